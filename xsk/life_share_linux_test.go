// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// A socket that shares its queue and is closed with unread frames, still in the
// queue map, is gone for good: the kernel takes it out of the map, so that packets
// pass on to the kernel, and the frames serve the other one.
func TestLifeShareQueueClose(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	const chunks = 128
	for _, first := range []int{0, 1} {
		area, err := umem.New(umem.Config{Chunks: 2 * chunks})
		if err != nil {
			t.Fatal(err)
		}
		var socks [2]*Socket
		cfg := Config{Interface: pair.B.Name, Area: area, RxSize: chunks, TxSize: 32}
		if socks[0], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Share = socks[0]
		if socks[1], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		p := redirect(t, pair.B, bpf.Config{}, socks[first])
		sendRaw := func(n int) {
			for i := range n {
				if err := raw.Send(datagram(&tp, uint64(i), 64)); err != nil {
					t.Fatal(err)
				}
			}
		}
		sendRaw(100)
		until(t, "100 arrive", func() bool { st, _ := socks[first].Stats(); return st.RxUsed == 100 })
		if err := socks[first].Close(); err != nil {
			t.Error(err)
		}
		checkArea(t, area)
		sendRaw(10)
		until(t, "10 pass to the kernel", func() bool { c, err := p.Counters(); return err == nil && c.NoSocket == 10 })

		left := socks[1-first]
		if err := p.SetQueue(0, left.FD()); err != nil {
			t.Fatal(err)
		}
		for round := range 5 {
			delivers(t, raw, pair.A, pair.B, left, uint64(round*chunks), chunks)
		}
		sendFromAll(t, pair, []*Socket{left}, 50)
		if s := area.Snapshot(); s.Free+s.Fill+s.Transmitting != s.Total {
			t.Errorf("%v", s)
		}
		if err := errors.Join(p.Close(), left.Close(), area.Close()); err != nil {
			t.Error(err)
		}
		// The queue is free when the last has closed.
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, BusyWait: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A socket that shares its queue and is closed with frames in its TX ring, which
// nothing sent, gives these back, and no other: those of the other one stay in
// transmission until they are completed.
func TestLifeShareQueueUnsent(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	a := openIn(t, pair.A.NS, Config{Interface: pair.A.Name, RxFrames: 64, TxFrames: 64, FillSize: 64, RxSize: 64, TxSize: 64})
	tp := template(t, pair.A, pair.B)
	for round := range 5 {
		b, err := tryIn(pair.A.NS, Config{Interface: pair.A.Name, Share: a, TxPool: a.TxPool(), RxSize: 64, TxSize: 64, Linger: -1})
		if err != nil {
			t.Fatal(err)
		}
		fill := func(s *Socket, n int) {
			frames := make([]umem.Frame, n)
			if got, err := s.Reserve(frames); got != n || err != nil {
				t.Fatalf("round %d: reserved %d of %d: %v, %v", round, got, n, err, s.Snapshot())
			}
			for i := range frames {
				frames[i] = write(t, s, frames[i], datagram(&tp, uint64(i), 64))
			}
			if got, err := s.Send(frames); got != n || err != nil {
				t.Fatal(got, err)
			}
		}
		fill(b, 40)
		if _, err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		fill(b, 16)
		fill(a, 8)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if got := a.Snapshot().Transmitting; got != 8 {
			t.Errorf("round %d: %d in transmission after close, want the other's 8", round, got)
		}
		if err := a.Drain(within(t, 5*time.Second)); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		checkArea(t, a.Area())
	}
	if st, _ := a.Stats(); st.Invalid != 0 || a.TxPool().Free() != 64 {
		t.Errorf("%d free, %+v", a.TxPool().Free(), st)
	}
}

// While sockets come to share a queue, the one they share is closed: each of them
// is wholly there or not at all, and afterwards the queue is free.
func TestLifeShareQueueRace(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	for round := range 20 {
		a, err := tryIn(pair.A.NS, Config{Interface: pair.A.Name, RxFrames: 64, TxFrames: 64, FillSize: 64, RxSize: 64, TxSize: 64})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		area := a.Area()
		closed := make(chan error)
		go func() {
			joined := func() bool {
				a.rings.usersMu.Lock()
				defer a.rings.usersMu.Unlock()
				return len(a.rings.users) == 2
			}
			// Every other time just after the other has joined the rings.
			for end := time.Now().Add(time.Second); round%2 == 0 && !joined() && time.Now().Before(end); {
				runtime.Gosched()
			}
			closed <- a.Close()
		}()
		b, err := tryIn(pair.A.NS, Config{Interface: pair.A.Name, Share: a, TxPool: a.TxPool(), RxSize: 64, TxSize: 64})
		if err := <-closed; err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}
		if err == nil {
			err = b.Close()
		} else if errors.Is(err, net.ErrClosed) {
			err = nil
		}
		if err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		checkArea(t, area)
	}
}
