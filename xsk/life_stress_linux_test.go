// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// Close returns in time though packets are refused as fast as others send them.
func TestLifeCloseWhileLosing(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	if err := pair.A.SetUp(false); err != nil {
		t.Fatal(err)
	}
	s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Direction: TransmitOnly, Linger: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	tp := template(t, pair.B, pair.A)
	sent, end := make(chan struct{}), make(chan error)
	go func() { end <- sendForever(s, datagram(&tp, 1, 64), 0, sent) }()
	<-sent
	start := time.Now()
	if err := s.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("close took %v", took)
	}
	if err := <-end; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if st, _ := s.Stats(); st.TxLost == 0 {
		t.Errorf("%+v", st)
	}
}

// One area serves sockets that come and go on all queues at once.
func TestLifeShareConcurrently(t *testing.T) {
	testnet.Leaks(t)
	// Room for four times as many chunks as are used at once: pools are ranges.
	const queues, rounds, chunks = 8, 10, 4 * 48
	pair := testnet.TestPair(t, testnet.Config{Queues: queues})
	area, err := umem.New(umem.Config{Chunks: queues * chunks})
	if err != nil {
		t.Fatal(err)
	}
	tp := template(t, pair.B, pair.A)
	var all sync.WaitGroup
	for q := range queues {
		all.Go(func() {
			for range rounds {
				s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Queue: q, Area: area, RxSize: 32, TxSize: 16})
				if err != nil {
					t.Error(err)
					return
				}
				frames := make([]umem.Frame, 16)
				if n, err := s.Reserve(frames); n != len(frames) || err != nil {
					t.Errorf("reserve: %d, %v", n, err)
				}
				for i := range frames {
					frames[i] = write(t, s, frames[i], datagram(&tp, uint64(i), 64))
				}
				n, err := s.Send(frames)
				if err != nil {
					t.Error(err)
				}
				if err := errors.Join(s.Release(frames[n:]), s.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	checkArea(t, area)
	rest, err := area.NewPool(queues * chunks)
	if err != nil {
		t.Fatalf("chunks are lost: %v", err)
	}
	if err := errors.Join(rest.Close(), area.Close()); err != nil {
		t.Error(err)
	}
}

// A socket that shares its queue is closed while the other one sends and
// receives at full speed, whichever of the two it is.
func TestLifeShareQueueTraffic(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw, tp := openRaw(t, pair.A), template(t, pair.B, pair.A)
	for round := range 10 {
		area, err := umem.New(umem.Config{Chunks: 512})
		if err != nil {
			t.Fatal(err)
		}
		var socks [2]*Socket
		cfg := Config{Interface: pair.B.Name, Area: area, RxSize: 128, TxSize: 64}
		if socks[0], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Share = socks[0]
		if socks[1], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		left, first := socks[round%2], socks[1-round%2]
		p, err := attach(pair.B, bpf.Config{}, anyPort, map[int]int{0: left.FD()})
		if err != nil {
			t.Fatal(err)
		}
		sent, end := make(chan struct{}), make(chan error)
		go func() { end <- sendForever(left, datagram(&tp, 1, 64), 0, sent) }()
		<-sent
		closed := make(chan error)
		go func() { closed <- first.Close() }()
		delivers(t, raw, pair.A, pair.B, left, 0, 100)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		delivers(t, raw, pair.A, pair.B, left, 100, 100)
		if err := errors.Join(p.Close(), left.Close()); err != nil && !errors.Is(err, umem.ErrFramesOut) {
			t.Error(err)
		}
		if err := <-end; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		checkArea(t, area)
		if err := area.Close(); err != nil {
			t.Error(err)
		}
		if st, _ := left.Stats(); st.Invalid != 0 || st.TxInvalid != 0 || st.RxInvalid != 0 {
			t.Errorf("%+v", st)
		}
	}
}

// Opening on an interface that is being deleted ends in a socket or in an error
// that says that it is gone, or going, and leaves nothing.
func TestLifeOpenWhileDeleted(t *testing.T) {
	testnet.Leaks(t)
	for range 10 {
		pair := testnet.TestPair(t, testnet.Config{})
		opened, deleted := make(chan struct{}), make(chan error)
		go func() {
			<-opened
			deleted <- pair.B.Delete()
		}()
		for first := true; ; first = false {
			s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, RxSize: 32, TxSize: 32})
			if first {
				close(opened)
			}
			if err == nil {
				err = s.Close()
			}
			if errors.Is(err, ErrNoInterface) {
				break
			}
			if err != nil && !errors.Is(err, ErrLinkDown) {
				t.Errorf("while it is being deleted: %v", err)
				break
			}
		}
		if err := <-deleted; err != nil {
			t.Error(err)
		}
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	}
}
