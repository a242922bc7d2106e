// SPDX-License-Identifier: MIT

package xsk

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/umem"
)

// gate is a simulated kernel whose first TX wakeup takes until out is closed.
type gate struct {
	*sim
	in, out chan struct{}
	calls   atomic.Int32
	fills   atomic.Int32 // wakeups for the fill ring
}

func (g *gate) wakeTx() error {
	if g.calls.Add(1) == 1 {
		close(g.in)
		<-g.out
	}
	return g.sim.wakeTx()
}

func (g *gate) wakeRx() error {
	g.fills.Add(1)
	return nil
}

// hungry gives the socket a fresh fill ring that asks for wakeups, as drivers in
// zero-copy mode do, and returns the kernel's side of it.
func hungry(s *Socket) ring.Shared[uint64] {
	fill := ring.Heap[uint64](64, 0)
	fill.Flags.Store(1)
	p := ring.NewProducer(fill)
	s.rings.fillMu.Lock()
	defer s.rings.fillMu.Unlock()
	s.rings.fill = &p
	s.area.Reclaim(s.rings.id)
	return fill
}

// A flush that must tell the kernel of chunks for the fill ring, and a Close that
// comes meanwhile, do not wait for each other.
func TestSimCloseDuringFlush(t *testing.T) {
	s, k := newSim(t, simConfig{})
	s.cfg.Linger = -1
	hungry(s)
	frames := make([]umem.Frame, 8)
	if n := s.rings.pool.Get(frames); n != 8 { // as if received: they go back into the fill ring
		t.Fatal(n)
	}
	numbered(t, s, frames, 0)
	if n, err := s.Send(frames); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	g := &gate{sim: k, in: make(chan struct{}), out: make(chan struct{})}
	s.os = g
	ended := make(chan string, 2)
	go func() { s.Flush(); ended <- "flush" }()
	<-g.in
	go func() { s.Close(); ended <- "close" }()
	for s.rxMu.TryLock() { // until Close has the receive lock
		s.rxMu.Unlock()
		time.Sleep(time.Millisecond)
	}
	close(g.out)
	for range 2 {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			// The clean-up would wait for the same locks.
			panic("flush and Close wait for each other")
		}
	}
}

// A flush that refills the fill ring tells the kernel that asked for it.
func TestSimFlushWakesFill(t *testing.T) {
	s, k := newSim(t, simConfig{})
	g := &gate{sim: k, in: make(chan struct{}), out: make(chan struct{})}
	close(g.out)
	s.os = g
	hungry(s)
	frames := make([]umem.Frame, 8)
	s.rings.pool.Get(frames)
	numbered(t, s, frames, 0)
	s.Send(frames)
	if _, err := s.Flush(); err != nil || g.fills.Load() != 1 {
		t.Errorf("%d wakeups for the fill ring: %v", g.fills.Load(), err)
	}
}

// A driver that asks for wakeups after the fill ring was filled is told by those
// who never sleep, and only while there are chunks for it.
func TestSimPokeWakesFill(t *testing.T) {
	s, k := newSim(t, simConfig{wait: Busy})
	s.info.Mode = ZeroCopy
	g := &gate{sim: k, in: make(chan struct{}), out: make(chan struct{})}
	close(g.out)
	s.os = g
	fill := hungry(s)
	fill.Flags.Store(0)
	in := make([]umem.Frame, 1)
	poke := func(want int32, when string) {
		t.Helper()
		g.fills.Store(0)
		if _, err := s.Receive(in); err != nil {
			t.Fatal(err)
		}
		s.Poke()
		if got := g.fills.Load(); got != want {
			t.Errorf("%s: %d wakeups, want %d", when, got, want)
		}
	}
	poke(0, "not asked for")
	fill.Flags.Store(1)
	poke(2, "asked for with nothing moved") // by Receive and by Poke
	fill.Consumer.Store(fill.Producer.Load())
	for s.rings.pool.Get(in) > 0 {
		continue // the pool has none for the ring
	}
	poke(0, "nothing to tell of")
}

// Close waits for what is being sent although the user's deadline has passed.
func TestSimLingerDeadline(t *testing.T) {
	s, k := newSim(t, simConfig{})
	s.cfg.Linger = 5 * time.Second
	k.lazy = true
	frames := make([]umem.Frame, 8)
	s.Reserve(frames)
	numbered(t, s, frames, 0)
	s.Send(frames)
	s.SetSendDeadline(time.Unix(1, 0))
	ended := make(chan struct{})
	go func() { s.Close(); close(ended) }()
	for owed := 0; owed < 8; {
		k.mu.Lock()
		owed = len(k.owed)
		k.mu.Unlock()
	}
	select {
	case <-ended:
		t.Error("closed with frames in transmission")
	case <-time.After(20 * time.Millisecond):
	}
	k.complete()
	select {
	case <-ended:
	case <-time.After(4 * time.Second):
		t.Error("waits for what was completed")
	}
}
