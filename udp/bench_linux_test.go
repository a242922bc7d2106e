// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// BenchmarkDecode is what making datagrams of received frames costs, without the
// kernel's part.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{64, 1472} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := newLink(b, testnet.Config{}, Config{})
			q := l.c.queues[0]
			for range batch {
				l.peer.WriteToUDPAddrPort(make([]byte, size), l.to)
			}
			frames := make([]umem.Frame, batch)
			for n := 0; n < batch; {
				k, err := q.sock.ReceiveContext(soon(b), frames[n:])
				if err != nil {
					b.Fatal(err)
				}
				n += k
			}
			ds := make([]Received, batch)
			b.ResetTimer()
			for b.Loop() {
				if n, _ := q.sort(ds, frames); n != batch {
					b.Fatal("no datagram")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/datagram")
			b.StopTimer()
			q.sock.Release(frames)
		})
	}
}
