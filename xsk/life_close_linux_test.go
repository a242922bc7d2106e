// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// calls are the methods that fail on a closed socket.
var calls = map[string]func(s *Socket, frames []umem.Frame) (int, error){
	"receive":              (*Socket).Receive,
	"receive, waiting":     func(s *Socket, f []umem.Frame) (int, error) { return s.ReceiveContext(context.Background(), f) },
	"reserve":              (*Socket).Reserve,
	"reserve, waiting":     func(s *Socket, f []umem.Frame) (int, error) { return s.ReserveContext(context.Background(), f) },
	"send":                 (*Socket).Send,
	"flush":                func(s *Socket, _ []umem.Frame) (int, error) { return s.Flush() },
	"reap":                 func(s *Socket, _ []umem.Frame) (int, error) { return s.Reap() },
	"drain":                func(s *Socket, _ []umem.Frame) (int, error) { return 0, s.Drain(context.Background()) },
	"close":                func(s *Socket, _ []umem.Frame) (int, error) { return 0, s.Close() },
	"receive into nothing": func(s *Socket, _ []umem.Frame) (int, error) { return s.ReceiveContext(context.Background(), nil) },
}

// Case 104: after Close every call says so; what the caller holds can be read and
// given back, with which the memory goes.
func TestLifeAfterClose(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name})
	if err != nil {
		t.Fatal(err)
	}
	p, err := attach(pair.B, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
	if err != nil {
		t.Fatal(err)
	}
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	var packets [20][]byte
	for i := range packets {
		packets[i] = datagram(&tp, uint64(i), 64)
		if err := raw.Send(packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all arrive", func() bool { st, _ := s.Stats(); return st.RxUsed == 20 })
	held := make([]umem.Frame, 20)
	if n, err := s.Receive(held[:10]); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Reserve(held[10:]); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	before, _ := s.Stats()
	err = s.Close()
	refused(t, err, umem.ErrFramesOut, "close", "20 frames")

	checkClosed(t, s, held, before)
	for i, f := range held[:10] {
		if b, err := s.Area().Bytes(f); err != nil || string(b) != string(packets[i]) {
			t.Errorf("frame %d changed: %v", i, err)
		}
	}
	if sn := s.Snapshot(); sn.Out() != 20 || sn.Sum() != sn.Total || sn.Fill != 0 {
		t.Errorf("%v", sn)
	}
	if err := s.Release(held); err != nil {
		t.Error(err)
	}
	if err := s.Release(held); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("given back twice: %v", err)
	}
	if _, err := s.Area().Bytes(held[0]); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("a frame that was given back can be read: %v", err)
	}
}

// checkClosed calls everything on a closed socket.
func checkClosed(t *testing.T, s *Socket, held []umem.Frame, before Stats) {
	t.Helper()
	for name, call := range calls {
		if n, err := call(s, held); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %d, %v", name, n, err)
		} else {
			refused(t, err, net.ErrClosed, s.Info().Interface, "queue 0")
		}
	}
	if s.FD() != -1 || s.Room(8) != 0 || !s.Ready() {
		t.Errorf("descriptor %d, room %d, ready %v", s.FD(), s.Room(8), s.Ready())
	}
	s.Poke()
	s.SetReceiveDeadline(time.Now())
	s.SetSendDeadline(time.Now())
	st, err := s.Stats()
	if err != nil || st.RxFrames != before.RxFrames || st.RxFrames != 10 || st.RxUsed != 0 || st.FillUsed != 0 {
		t.Errorf("%v %+v, before %+v", err, st, before)
	}
	if s.String() == "" {
		t.Errorf("%+v", s.Info())
	}
}

// Close ends every blocked call, in each way of waiting, and nothing of them is
// left behind; one of many closers closes, the others are told.
func TestLifeCloseEndsWaits(t *testing.T) {
	for _, w := range waits {
		t.Run(w.String(), func(t *testing.T) {
			testnet.Leaks(t)
			pair := testnet.TestPair(t, testnet.Config{})
			s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Wait: w, RxSize: 64, TxSize: 64})
			if err != nil {
				t.Fatal(err)
			}
			all := make([]umem.Frame, 64)
			if n, err := s.Reserve(all); n != 64 || err != nil {
				t.Fatal(n, err)
			}
			errs := make(chan error)
			for _, call := range []string{"receive, waiting", "receive, waiting", "reserve, waiting", "reserve, waiting"} {
				go func() {
					_, err := calls[call](s, make([]umem.Frame, 1))
					errs <- err
				}()
			}
			select {
			case err := <-errs:
				t.Fatalf("a call did not wait: %v", err)
			case <-time.After(30 * time.Millisecond): // they are in all stages of waiting now
			}
			start := time.Now()
			var closed sync.WaitGroup
			results := make([]error, 4)
			for i := range results {
				closed.Go(func() { results[i] = s.Close() })
			}
			for range 4 {
				if err := <-errs; !errors.Is(err, net.ErrClosed) {
					t.Errorf("a call ended with %v", err)
				}
			}
			closed.Wait()
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			closers := 0
			for _, err := range results {
				if errors.Is(err, umem.ErrFramesOut) {
					closers++
				} else if !errors.Is(err, net.ErrClosed) {
					t.Errorf("close: %v", err)
				}
			}
			if closers != 1 {
				t.Errorf("%d have closed it", closers)
			}
			if err := s.Release(all); err != nil {
				t.Error(err)
			}
		})
	}
}

// Close waits for what is being sent, for as long as it may, and no longer; and
// ends Drain and ReserveContext meanwhile.
func TestLifeCloseLingers(t *testing.T) {
	for _, linger := range []time.Duration{-1, 100 * time.Millisecond, 10 * time.Second} {
		s, k := newSim(t, simConfig{rx: 8, tx: 8, fill: 8, done: 8, rxFrames: 8, txFrames: 8, budget: 8, wait: Block})
		s.cfg.Linger = linger
		k.mu.Lock()
		k.lazy = true
		k.mu.Unlock()
		frames := make([]umem.Frame, 8)
		s.Reserve(frames)
		numbered(t, s, frames, 0)
		if n, err := s.Send(frames); n != 8 || err != nil {
			t.Fatal(n, err)
		}
		errs := make(chan error)
		go func() { errs <- s.Drain(context.Background()) }()
		go func() {
			_, err := s.ReserveContext(context.Background(), make([]umem.Frame, 1))
			errs <- err
		}()
		until(t, "all is in transmission", func() bool { return s.Snapshot().Transmitting == 8 && k.kicks.Load() > 0 })
		if linger > time.Second {
			time.AfterFunc(50*time.Millisecond, k.complete)
		}
		start := time.Now()
		if err := s.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
			t.Error(err)
		}
		switch took := time.Since(start); {
		case linger < 0 && took > stall,
			linger == 100*time.Millisecond && (took < linger || took > linger+stall),
			linger > stall && took > linger/2:
			t.Errorf("close took %v with %v to linger", took, linger)
		}
		for range 2 {
			// Completed meanwhile, they may also have had what they want.
			if err := <-errs; err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			} else if err == nil && linger < time.Second {
				t.Error("a call ended well that cannot have")
			}
		}
		if sn := s.Snapshot(); sn.Sum() != sn.Total || sn.Transmitting+sn.Fill != 0 {
			t.Errorf("%v", sn)
		}
	}
}

// A pool or an area that is closed ends the wait for frames of it; the socket on
// it goes on receiving.
func TestLifeAreaClosed(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw := openRaw(t, pair.A)
	for _, what := range []string{"pool", "area"} {
		area, err := umem.New(umem.Config{Chunks: 256})
		if err != nil {
			t.Fatal(err)
		}
		pool, err := area.NewPool(64)
		if err != nil {
			t.Fatal(err)
		}
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Area: area, TxPool: pool, RxSize: 64})
		if err != nil {
			t.Fatal(err)
		}
		p, err := attach(pair.B, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
		if err != nil {
			t.Fatal(err)
		}
		frames := make([]umem.Frame, 64)
		if n, err := s.Reserve(frames); n != 64 || err != nil {
			t.Fatal(n, err)
		}
		end := make(chan error)
		go func() {
			_, err := s.ReserveContext(context.Background(), make([]umem.Frame, 1))
			end <- err
		}()
		if what == "pool" {
			err = pool.Close()
		} else {
			err = area.Close()
		}
		if !errors.Is(err, umem.ErrFramesOut) {
			t.Errorf("close the %s: %v", what, err)
		}
		refused(t, <-end, net.ErrClosed, "reserve")
		for round := range 4 {
			delivers(t, raw, pair.A, pair.B, s, uint64(round*50), 50)
		}
		if err := errors.Join(s.Release(frames), p.Close(), s.Close(), area.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Case 75: reading and writing the descriptor is refused by the kernel and does
// the socket no harm.
func TestLifeReadDescriptor(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	redirect(t, pair.B, bpf.Config{}, s)
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	if err := raw.Send(datagram(&tp, 0, 64)); err != nil {
		t.Fatal(err)
	}
	until(t, "it arrives", func() bool { st, _ := s.Stats(); return st.RxUsed == 1 })
	buf := make([]byte, 2048)
	for name, call := range map[string]func() (int, error){
		"read":  func() (int, error) { return unix.Read(s.FD(), buf) },
		"write": func() (int, error) { return unix.Write(s.FD(), buf) },
		"recv":  func() (int, error) { n, _, err := unix.Recvfrom(s.FD(), buf, 0); return n, err },
		"send":  func() (int, error) { return 0, unix.Sendto(s.FD(), buf, 0, nil) },
	} {
		if n, err := call(); n > 0 || !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if seq := collect(t, s, 1); seq[0] != 0 {
		t.Errorf("datagram %d", seq[0])
	}
	delivers(t, raw, pair.A, pair.B, s, 1, 50)
	sendFromAll(t, pair, []*Socket{s}, 50)
}
