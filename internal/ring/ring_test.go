// SPDX-License-Identifier: MIT

package ring

import (
	"fmt"
	"slices"
	"testing"
)

// desc has the shape of a kernel descriptor without needing Linux.
type desc struct {
	Addr         uint64
	Len, Options uint32
}

// starts are the indexes that tests begin at: the last ones wrap soon.
var starts = []uint32{0, 1, 1 << 31, ^uint32(0) - 5, ^uint32(0)}

func pair[T any](size, start uint32) (*Producer[T], *Consumer[T], Shared[T]) {
	s := Heap[T](size, start)
	p, c := NewProducer(s), NewConsumer(s)
	return &p, &c, s
}

// put writes vs in order over the two spans.
func put[T any](a, b, vs []T) { copy(b, vs[copy(a, vs):]) }

func TestFillAndDrain(t *testing.T) {
	for _, start := range starts {
		for _, size := range []uint32{1, 2, 8, 64} {
			t.Run(fmt.Sprintf("start=%#x/size=%d", start, size), func(t *testing.T) {
				p, c, _ := pair[uint64](size, start)
				if _, _, ok := p.Reserve(size + 1); ok {
					t.Fatal("reserved more than the ring has")
				}
				for i := range size {
					a, b, ok := p.Reserve(1)
					if !ok || len(a) != 1 || len(b) != 0 {
						t.Fatalf("reserve %d: %d+%d entries, %v", i, len(a), len(b), ok)
					}
					a[0] = uint64(i)
				}
				if a, _ := c.Peek(size); len(a) != 0 {
					t.Fatal("consumer sees what was not submitted")
				}
				p.Submit(size)
				if _, _, ok := p.Reserve(1); ok {
					t.Fatal("reserved in a full ring")
				}
				if c.Len() != size || p.Pending() != size {
					t.Fatalf("full ring: len %d, pending %d", c.Len(), p.Pending())
				}
				a, b := c.Peek(size + 7)
				for i, v := range append(append([]uint64(nil), a...), b...) {
					if v != uint64(i) {
						t.Fatalf("entry %d is %d", i, v)
					}
				}
				if uint32(len(a)+len(b)) != size {
					t.Fatalf("peeked %d+%d of %d", len(a), len(b), size)
				}
				c.Release(size)
				if got := p.Free(size); got != size {
					t.Fatalf("free after drain: %d", got)
				}
			})
		}
	}
}

func TestReserveIsAllOrNothing(t *testing.T) {
	p, c, _ := pair[uint64](4, ^uint32(0)-1)
	p.Reserve(3)
	p.Submit(3)
	if _, _, ok := p.Reserve(2); ok {
		t.Fatal("reserved 2 of 1")
	}
	if got := p.Free(1); got != 1 {
		t.Fatalf("a refused reserve took entries: %d free", got)
	}
	c.Peek(1)
	c.Release(1)
	if _, _, ok := p.Reserve(2); !ok {
		t.Fatal("refused 2 of 2 after a release")
	}
}

// Case 27: a batch reserved whole and submitted in part hands the rest back.
func TestShortLastBatch(t *testing.T) {
	const frames, batch = 179, 64
	p, c, _ := pair[uint64](128, ^uint32(0)-50)
	var next, want uint64
	for range 200 {
		for left := uint32(frames); left > 0; {
			a, b, ok := p.Reserve(batch)
			if !ok {
				t.Fatalf("stalled after %d: %d free", next, p.Free(batch))
			}
			n := min(left, batch)
			for i := range n {
				if i < uint32(len(a)) {
					a[i] = next
				} else {
					b[i-uint32(len(a))] = next
				}
				next++
			}
			p.Cancel(batch - n)
			p.Submit(n)
			left -= n
			for _, s := range spans(c, batch) {
				for _, v := range s {
					if v != want {
						t.Fatalf("got %d, want %d", v, want)
					}
					want++
				}
				c.Release(uint32(len(s)))
			}
		}
	}
	if want != 200*frames {
		t.Fatalf("%d entries arrived, want %d", want, 200*frames)
	}
}

func spans[T any](c *Consumer[T], n uint32) [2][]T {
	a, b := c.Peek(n)
	return [2][]T{a, b}
}

// A peer that writes nonsense into its index must not make us touch entries
// twice or beyond the ring.
func TestWildPeerIndex(t *testing.T) {
	p, c, s := pair[uint64](8, 100)
	s.Producer.Store(100 + 1000)
	if a, b := c.Peek(5000); len(a)+len(b) != 8 {
		t.Fatalf("peeked %d of a ring of 8", len(a)+len(b))
	}
	s.Consumer.Store(101) // ahead of all that was produced
	if _, _, ok := p.Reserve(9); ok {
		t.Fatal("reserved more than the ring has")
	}
	if got := p.Free(9); got != 0 {
		t.Fatalf("%d free by an index that cannot be", got)
	}
}

// The design's rule: a shared word is read at most once a batch, and not at all
// while the private copy suffices.
func TestNoNeedlessLoads(t *testing.T) {
	p, c, s := pair[uint64](8, 0)
	p.Reserve(4)
	p.Submit(4)
	c.Peek(4)
	s.Producer.Store(0) // were it read again, the entries would vanish
	if a, _ := c.Peek(4); len(a) != 4 {
		t.Fatal("peek looked at the producer index without need")
	}
	s.Consumer.Store(^uint32(3)) // were it read, nothing would be free
	if _, _, ok := p.Reserve(4); !ok {
		t.Fatal("reserve looked at the consumer index without need")
	}
}

func TestNeedWakeup(t *testing.T) {
	p, _, s := pair[uint64](8, 0)
	if p.NeedWakeup() {
		t.Fatal("fresh ring asks for a wakeup")
	}
	s.Flags.Store(needWakeup)
	if !p.NeedWakeup() {
		t.Fatal("flag not seen")
	}
}

func TestCheckSize(t *testing.T) {
	for _, size := range []uint32{1, 2, 64, MaxSize} {
		if err := CheckSize(size); err != nil {
			t.Error(err)
		}
	}
	for _, size := range []uint32{0, 3, 1000, MaxSize * 2, 1 << 27, 1 << 31} {
		if CheckSize(size) == nil {
			t.Errorf("%d passed", size)
		}
	}
}

// Entries that the kernel has not taken are told oldest first, reserved ones not
// at all.
func TestUntaken(t *testing.T) {
	for _, start := range starts {
		p, c, _ := pair[uint64](8, start)
		for taken := range uint64(20) {
			x, y, ok := p.Reserve(5)
			if !ok {
				t.Fatal("full")
			}
			put(x, y, []uint64{taken, taken + 1, taken + 2, 99, 99})
			p.Cancel(1)
			p.Submit(3)
			c.Peek(1)
			c.Release(1)
			a, b := p.Untaken()
			if got := append(slices.Clone(a), b...); !slices.Equal(got, []uint64{taken + 1, taken + 2}) {
				t.Fatalf("from %#x: %v", start, got)
			}
			p.Cancel(1)
			c.Peek(2)
			c.Release(2)
		}
	}
}
