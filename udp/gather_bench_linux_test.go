// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// BenchmarkGather is what GatherAuto decides by: a datagram of one slice, gathered
// and copied, of sizes that fit into a frame and of sizes that do not. Copy mode on
// veth; the time holds what the kernel does on both ends.
func BenchmarkGather(b *testing.B) {
	for _, size := range []int{64, 1464, 3900, 4200, 8960} {
		for _, p := range []struct {
			name   string
			policy GatherPolicy
		}{{"gather", GatherAlways}, {"copy", GatherCopy}} {
			b.Run(fmt.Sprintf("size=%d/%s", size, p.name), func(b *testing.B) {
				s := newStudio(b, testnet.Config{MTU: 9000}, Config{Gather: p.policy, TxChecksum: TxNone})
				q := s.c.Queues()[0]
				gs := make([]Gather, batch)
				for i := range gs {
					gs[i] = Gather{Slices: []umem.Slice{s.slice(b, 100*i, size)}, Flow: s.flow}
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for n := 0; b.Loop(); n = (n + 1) % batch {
					if n > 0 {
						continue
					}
					for left := gs; len(left) > 0; {
						k, err := q.SendGather(left)
						if err != nil {
							b.Fatal(err)
						}
						left = left[k:]
					}
				}
			})
		}
	}
}
