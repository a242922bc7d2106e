// SPDX-License-Identifier: MIT

package ring

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"
)

var stress = flag.Int("ring.stress", 200_000, "entries that the two-goroutine stress passes through each ring")

// TestStress plays program and kernel on two goroutines: the program sends
// through a TX ring, the kernel moves each entry to the completion ring, the
// program checks the order. The entries are plain memory, so the race detector
// would see an index published before its entry, or one read too early.
func TestStress(t *testing.T) {
	for _, start := range []uint32{0, ^uint32(0) - 1000} {
		tx, done := Heap[desc](64, start), Heap[uint64](32, start)
		go playKernel(tx, done, *stress)
		playProgram(t, tx, done, *stress)
	}
}

func playKernel(tx Shared[desc], done Shared[uint64], total int) {
	c, p := NewConsumer(tx), NewProducer(done)
	rng := rand.New(rand.NewPCG(1, 2))
	for moved := 0; moved < total; {
		a, b := c.Peek(1 + rng.Uint32N(48))
		n := uint32(len(a) + len(b))
		x, y, ok := p.Reserve(n)
		if n == 0 || !ok {
			runtime.Gosched()
			continue
		}
		for i := range n {
			d := at(a, b, i)
			*at(x, y, i) = d.Addr
			*d = desc{} // the kernel may scribble on what it owns
		}
		p.Submit(n)
		c.Release(n)
		moved += int(n)
	}
}

func playProgram(t *testing.T, tx Shared[desc], done Shared[uint64], total int) {
	p, c := NewProducer(tx), NewConsumer(done)
	rng := rand.New(rand.NewPCG(3, 4))
	var next, want uint64
	for want < uint64(total) {
		n := min(1+rng.Uint32N(48), uint32(uint64(total)-next))
		if a, b, ok := p.Reserve(n); ok {
			for i := range n {
				*at(a, b, i) = desc{Addr: next, Len: uint32(next)}
				next++
			}
			p.Submit(n)
		}
		a, b := c.Peek(64)
		for i := range uint32(len(a) + len(b)) {
			if got := *at(a, b, i); got != want {
				t.Fatalf("completion %d, want %d", got, want)
			}
			want++
		}
		c.Release(uint32(len(a) + len(b)))
		if len(a) == 0 {
			runtime.Gosched()
		}
	}
}

// at is entry i of two spans taken as one.
func at[T any](a, b []T, i uint32) *T {
	if i < uint32(len(a)) {
		return &a[i]
	}
	return &b[i-uint32(len(a))]
}
