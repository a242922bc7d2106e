// SPDX-License-Identifier: MIT

package packet_test

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

func BenchmarkSum(b *testing.B) {
	loops := map[string]func([]byte, uint16) uint16{"naive": naiveSum, "sum64": packet.Sum64, "sum32": packet.Sum32}
	for _, n := range []int{8, 20, 64, 128, 512, 1472, 4096, 8972} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		for _, name := range []string{"naive", "sum32", "sum64"} {
			sum := loops[name]
			b.Run(fmt.Sprintf("%s/bytes=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				var s uint16
				for b.Loop() {
					s = sum(data, s)
				}
			})
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	for name, cfg := range map[string]packet.Config{"ipv4": flow4(), "ipv6-vlan": tagged(flow6(), 100)} {
		payload := make([]byte, 64)
		frame := put(b, cfg, payload)
		u := mustParse(b, frame)
		cfg.Checksum = packet.Offload
		tmpl := mustTemplate(b, cfg)
		scratch := put(b, cfg, payload)
		b.Run("Parse/"+name, func(b *testing.B) {
			for b.Loop() {
				packet.Parse(frame)
			}
		})
		b.Run("Decode/"+name, func(b *testing.B) {
			for b.Loop() {
				u.Decode(frame, len(frame))
			}
		})
		b.Run("Verify/bytes=64/"+name, func(b *testing.B) {
			for b.Loop() {
				u.Verify(frame)
			}
		})
		b.Run("Put/"+name, func(b *testing.B) {
			for b.Loop() {
				tmpl.Put(scratch, payload)
			}
		})
		b.Run("Reply/offload/"+name, func(b *testing.B) {
			for b.Loop() {
				u.Reply(packet.ReplyConfig{Checksum: packet.Offload}, scratch)
			}
		})
	}
}
