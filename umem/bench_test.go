// SPDX-License-Identifier: MIT

package umem

import "testing"

// cycle passes a batch of frames through all their owners.
func cycle(t testing.TB, a *Area, p *Pool, rings uint32, frames []Frame, addrs []uint64) {
	n := p.Get(frames)
	for i, f := range frames[:n] {
		addr, err := a.Transmit(rings, f.WithLen(64))
		if err != nil {
			t.Fatal(err)
		}
		addrs[i] = addr
	}
	if k, err := a.Completed(rings, addrs[:n], nil); k != n || err != nil {
		t.Fatal(k, err)
	}
	n = p.ToFill(rings, addrs, nil)
	for i, addr := range addrs[:n] {
		frames[i] = a.Decode(addr+256, 64, false)
	}
	if k, err := a.Admit(rings, frames[:n]); k != n || err != nil {
		t.Fatal(k, err)
	}
	if _, k, err := p.Recycle(rings, frames[:n], nil, nil); k != n || err != nil {
		t.Fatal(k, err)
	}
}

func BenchmarkCycle(b *testing.B) {
	const batch = 64
	a, p := newArea(b, Config{Chunks: 256})
	frames, addrs, rings := make([]Frame, batch), make([]uint64, batch), a.Rings()
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, a, p, rings, frames, addrs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/frame")
}

func TestNoAllocations(t *testing.T) {
	a, p := newArea(t, Config{Chunks: 256})
	frames, addrs, rings := make([]Frame, 64), make([]uint64, 64), a.Rings()
	if n := testing.AllocsPerRun(200, func() { cycle(t, a, p, rings, frames, addrs) }); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
