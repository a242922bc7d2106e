// SPDX-License-Identifier: MIT

package ring

import (
	"fmt"
	"testing"
)

// BenchmarkRing passes batches of descriptors through a ring, as produce
// (reserve, write, submit) and as consume (peek, read, release), each beside
// the copy of the same descriptors between two slices that it is measured by.
func BenchmarkRing(b *testing.B) {
	for _, batch := range []int{1, 8, 64, 256} {
		p, c, s := pair[desc](2048, 0)
		from, to := make([]desc, 2048), make([]desc, 2048)
		b.Run(fmt.Sprintf("copy/batch=%d", batch), func(b *testing.B) {
			at := 0
			for b.Loop() {
				copy(to[at:at+batch], from[at:at+batch])
				at = (at + batch) & 2047
			}
			perEntry(b, batch)
		})
		b.Run(fmt.Sprintf("produce/batch=%d", batch), func(b *testing.B) {
			for b.Loop() {
				x, y, ok := p.Reserve(uint32(batch))
				if !ok {
					b.Fatal("full")
				}
				put(x, y, from[:batch])
				p.Submit(uint32(batch))
				s.Consumer.Store(p.tail) // the kernel, at its fastest
			}
			perEntry(b, batch)
		})
		*c = NewConsumer(s)
		b.Run(fmt.Sprintf("consume/batch=%d", batch), func(b *testing.B) {
			for b.Loop() {
				s.Producer.Store(c.head + uint32(batch))
				x, y := c.Peek(uint32(batch))
				if len(x)+len(y) != batch {
					b.Fatal("empty")
				}
				copy(to[copy(to, x):], y)
				c.Release(uint32(batch))
			}
			perEntry(b, batch)
		})
	}
}

func perEntry(b *testing.B, batch int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch), "ns/entry")
}

func TestNoAllocations(t *testing.T) {
	p, c, _ := pair[desc](256, 0)
	if n := testing.AllocsPerRun(1000, func() {
		p.Reserve(64)
		p.Submit(64)
		c.Peek(64)
		c.Release(64)
	}); n != 0 {
		t.Fatalf("%v allocations a batch", n)
	}
}
