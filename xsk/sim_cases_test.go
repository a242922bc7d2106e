// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/xdpath/xdpath/umem"
)

// numbered makes reserved frames into packets that say their number.
func numbered(t testing.TB, s *Socket, frames []umem.Frame, from uint64) {
	t.Helper()
	for i, f := range frames {
		b, err := s.Area().Bytes(f)
		if err != nil {
			t.Fatal(err)
		}
		b = b[:64]
		binary.BigEndian.PutUint64(b[14:], from+uint64(i))
		frames[i] = f.WithLen(len(b))
	}
}

// number reads what numbered wrote.
func number(t testing.TB, s *Socket, f umem.Frame) uint64 {
	t.Helper()
	b, err := s.Area().Bytes(f)
	if err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint64(b[14:])
}

// pump passes total numbered packets through the socket in batches, and checks
// that each comes once and in order.
func pump(t *testing.T, s *Socket, total, batch int) {
	t.Helper()
	frames, in := make([]umem.Frame, batch), make([]umem.Frame, 64)
	var sent, got uint64
	for idle := 0; got < uint64(total); idle++ {
		n, err := s.Reserve(frames[:min(batch, total-int(sent))])
		if err != nil {
			t.Fatal(err)
		}
		numbered(t, s, frames[:n], sent)
		k, err := s.Send(frames[:n])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Release(frames[k:n]); err != nil {
			t.Fatal(err)
		}
		sent += uint64(k)
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if k, err = s.Receive(in); err != nil {
			t.Fatal(err)
		}
		for _, f := range in[:k] {
			if no := number(t, s, f); no != got {
				t.Fatalf("packet %d came when %d was due", no, got)
			}
			got++
			idle = 0
		}
		if err := s.Release(in[:k]); err != nil {
			t.Fatal(err)
		}
		if idle > 1000 {
			t.Fatalf("stalled: sent %d, got %d, %v", sent, got, s.Snapshot())
		}
	}
}

// Cases 27 and 28: 179 packets in batches of any size, again and again, from
// indexes that wrap soon.
func TestSimBatches(t *testing.T) {
	for _, batch := range []int{1, 8, 63, 64, 179, 256} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			s, k := newSim(t, simConfig{start: ^uint32(0) - 100})
			for range 20 {
				pump(t, s, 179, batch)
			}
			if k.stats.rxDropped+k.stats.rxRingFull != 0 {
				t.Errorf("%+v", k.stats)
			}
		})
	}
}

// Case 78: how many wakeups a flush makes, with the old budget and a large one.
func TestSimWakeups(t *testing.T) {
	for _, c := range []struct{ n, budget, want int }{
		{16, 32, 1}, {32, 32, 1}, {33, 32, 2}, {64, 32, 2}, {200, 32, 7}, {200, 256, 1}, {0, 32, 0},
	} {
		s, k := newSim(t, simConfig{tx: 256, rx: 256, budget: c.budget})
		frames := make([]umem.Frame, c.n)
		if n, err := s.Reserve(frames); n != c.n || err != nil {
			t.Fatal(n, err)
		}
		numbered(t, s, frames, 0)
		if n, err := s.Send(frames); n != c.n || err != nil {
			t.Fatal(n, err)
		}
		if left, err := s.Flush(); left != 0 || err != nil {
			t.Errorf("%d frames: %d left, %v", c.n, left, err)
		}
		if got := int(k.kicks.Load()); got != c.want {
			t.Errorf("%d frames with a budget of %d: %d wakeups, want %d", c.n, c.budget, got, c.want)
		}
	}
}

// Case 77: a full ring drains by one flush, and the next frame goes.
func TestSimFullRing(t *testing.T) {
	s, _ := newSim(t, simConfig{tx: 16, txFrames: 32, rx: 64})
	frames := make([]umem.Frame, 17)
	if n, _ := s.Reserve(frames); n != 17 {
		t.Fatal(n)
	}
	numbered(t, s, frames, 0)
	if n, err := s.Send(frames); n != 16 || err != nil {
		t.Fatalf("ring of 16 took %d: %v", n, err)
	}
	if n, err := s.Send(frames[16:]); n != 0 || err != nil {
		t.Fatalf("full ring took %d: %v", n, err)
	}
	if left, err := s.Flush(); left != 0 || err != nil {
		t.Fatal(left, err)
	}
	if n, err := s.Send(frames[16:]); n != 1 || err != nil {
		t.Fatalf("drained ring took %d: %v", n, err)
	}
}

// The errnos of a TX wakeup, each with what becomes of the frames.
func TestSimErrnos(t *testing.T) {
	const n = 8
	for _, c := range []struct {
		errnos []syscall.Errno
		left   int
		lost   uint64
		is     []error
	}{
		{errnos: nil},
		{errnos: []syscall.Errno{syscall.EINTR}},
		{errnos: []syscall.Errno{syscall.EBUSY}, lost: 1, is: []error{ErrLost, syscall.EBUSY}},
		{errnos: []syscall.Errno{syscall.EBUSY, syscall.EBUSY, syscall.EBUSY, syscall.EBUSY, syscall.EBUSY, syscall.EBUSY, syscall.EBUSY, syscall.EBUSY}, lost: 8, is: []error{ErrLost}},
		{errnos: []syscall.Errno{syscall.ENETDOWN}, left: n, is: []error{ErrLinkDown, syscall.ENETDOWN}},
		{errnos: []syscall.Errno{syscall.ENXIO}, left: n, is: []error{ErrNoInterface, syscall.ENXIO}},
		{errnos: []syscall.Errno{syscall.EINVAL}, left: n, is: []error{syscall.EINVAL}},
		{errnos: []syscall.Errno{syscall.ENOBUFS, syscall.ENOBUFS, syscall.ENOBUFS}, left: n},
		{errnos: []syscall.Errno{syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN}, left: n},
	} {
		t.Run(fmt.Sprint(c.errnos), func(t *testing.T) {
			s, k := newSim(t, simConfig{})
			k.errnos = c.errnos
			frames := make([]umem.Frame, n)
			s.Reserve(frames)
			numbered(t, s, frames, 0)
			s.Send(frames)
			left, err := s.Flush()
			if left != c.left {
				t.Errorf("%d left, want %d", left, c.left)
			}
			if (err != nil) != (len(c.is) > 0) {
				t.Errorf("error %v", err)
			}
			for _, target := range c.is {
				if !errors.Is(err, target) {
					t.Errorf("%v is not %v", err, target)
				}
			}
			if st, _ := s.Stats(); st.TxLost != c.lost {
				t.Errorf("%d lost, want %d", st.TxLost, c.lost)
			}
			// What stayed is sent by the next flush, once.
			k.mu.Lock()
			k.errnos = nil
			k.mu.Unlock()
			if left, err := s.Flush(); left != 0 || err != nil {
				t.Errorf("then: %d left, %v", left, err)
			}
			in := make([]umem.Frame, 64)
			if got, _ := s.Receive(in); got != n-int(c.lost) {
				t.Errorf("%d arrived of %d", got, n-int(c.lost))
			} else {
				s.Release(in[:got])
			}
		})
	}
}

// Case 31: a frame that was received and sent on is not reused before its
// completion, whatever the order of completions.
func TestSimEchoBeforeCompletion(t *testing.T) {
	s, k := newSim(t, simConfig{rx: 32, tx: 32})
	pump(t, s, 10, 10)
	frames, in := make([]umem.Frame, 8), make([]umem.Frame, 8)
	s.Reserve(frames)
	numbered(t, s, frames, 100)
	s.Send(frames)
	s.Flush()
	if n, _ := s.Receive(in); n != 8 {
		t.Fatal(n)
	}
	k.lazy = true
	if n, err := s.Send(in); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	s.Flush()
	if got := s.Snapshot().Transmitting; got != 8 {
		t.Errorf("%d in transmission", got)
	}
	if _, err := s.Area().Bytes(in[0]); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("a sent frame can still be read: %v", err)
	}
	if err := s.Release(in[:1]); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("a sent frame can still be released: %v", err)
	}
	k.complete()
	if n, err := s.Reap(); n != 8 || err != nil {
		t.Error(n, err)
	}
	if sn := s.Snapshot(); sn.Transmitting != 0 || sn.Fill != 32 {
		t.Errorf("after completion: %v", sn) // those that wait in the RX ring count as fill
	}
}

// Cases 44, 91 and misuse: what is refused leaves the ring and the rest alone.
func TestSimRefused(t *testing.T) {
	s, _ := newSim(t, simConfig{multi: true, txFrames: 64})
	get := func(n int) []umem.Frame {
		frames := make([]umem.Frame, n)
		if k, _ := s.Reserve(frames); k != n {
			t.Fatalf("%d of %d frames", k, n)
		}
		numbered(t, s, frames, 0)
		return frames
	}
	chain := func(n int) []umem.Frame {
		frames := get(n)
		for i := range frames[:n-1] {
			frames[i] = frames[i].WithMore(true)
		}
		return frames
	}
	stale := get(1)
	s.Release(stale)
	broken := chain(3)
	broken[1] = stale[0].WithMore(true)
	for name, c := range map[string]struct {
		frames []umem.Frame
		is     error
	}{
		"13 bytes":           {[]umem.Frame{get(1)[0].WithLen(13)}, ErrLength},
		"no bytes":           {[]umem.Frame{get(1)[0].WithLen(0)}, ErrLength},
		"beyond the chunk":   {[]umem.Frame{get(1)[0].WithLen(2049)}, umem.ErrFrame},
		"over the MTU":       {chainOf(chain(6), 1600), ErrLength},
		"19 frames":          {chain(19), ErrLength},
		"unfinished":         {chain(3)[:2], ErrLength},
		"stale":              {stale, umem.ErrFrame},
		"stale in the chain": {broken, umem.ErrFrame},
	} {
		before := s.Snapshot()
		good := get(1)
		if n, err := s.Send(append(good, c.frames...)); n != 1 || !errors.Is(err, c.is) {
			t.Errorf("%s: took %d, %v", name, n, err)
		}
		s.Flush()
		if after := s.Snapshot(); after.Reserved != before.Reserved {
			t.Errorf("%s: frames changed hands: %v, before %v", name, after, before)
		}
		for _, f := range c.frames {
			s.Release([]umem.Frame{f})
		}
	}
	if st, _ := s.Stats(); st.TxPackets != 8 {
		t.Errorf("%d packets sent", st.TxPackets)
	}
	if n, err := s.Send(chain(18)); n != 18 || err != nil {
		t.Errorf("18 frames: %d %v", n, err)
	}
}

func chainOf(frames []umem.Frame, n int) []umem.Frame {
	for i := range frames {
		frames[i] = frames[i].WithLen(n)
	}
	return frames
}

// Cases 46, 67 and 68: packets of several frames come whole, and single ones
// that go through the same descriptors afterwards stay single.
func TestSimMultiBuffer(t *testing.T) {
	s, _ := newSim(t, simConfig{multi: true})
	for round := range 40 {
		for _, n := range []int{1, 6, 1, 18, 2} {
			frames := make([]umem.Frame, n)
			if k, _ := s.Reserve(frames); k != n {
				t.Fatal(k)
			}
			numbered(t, s, frames, 0)
			for i := range frames[:n-1] {
				frames[i] = frames[i].WithMore(true)
			}
			if k, err := s.Send(frames); k != n || err != nil {
				t.Fatal(k, err)
			}
			s.Flush()
			if n > 1 { // not in part
				if k, err := s.Receive(make([]umem.Frame, n-1)); k != 0 || err == nil {
					t.Fatalf("round %d: %d frames of a packet of %d: %v", round, k, n, err)
				}
			}
			in := make([]umem.Frame, 32)
			k, err := s.Receive(in)
			if k != n || err != nil {
				t.Fatalf("round %d: %d frames of %d: %v", round, k, n, err)
			}
			for i, f := range in[:k] {
				if f.More() != (i < n-1) {
					t.Fatalf("round %d: frame %d of %d: more %v", round, i, n, f.More())
				}
			}
			s.Release(in[:k])
		}
	}
}

// Cases 109 and 110: many goroutines send and receive on one socket; each packet
// comes exactly once.
func TestSimManyGoroutines(t *testing.T) {
	const senders, each = 8, 2000
	s, _ := newSim(t, simConfig{rx: 1 << 14, tx: 64, txFrames: 128, wait: Adaptive})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	seen := make([]bool, senders*each)
	var mu sync.Mutex
	var count int
	finished := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			frames := make([]umem.Frame, 32)
			for {
				n, err := s.ReceiveContext(ctx, frames)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				for _, f := range frames[:n] {
					no := number(t, s, f)
					if seen[no] {
						t.Errorf("packet %d came twice", no)
					}
					seen[no] = true
					if count++; count == len(seen) {
						close(finished)
					}
				}
				mu.Unlock()
				s.Release(frames[:n])
			}
		})
	}
	for g := range senders {
		wg.Go(func() { sendNumbers(t, s, uint64(g*each), each) })
	}
	<-finished
	cancel()
	wg.Wait()
}

func sendNumbers(t *testing.T, s *Socket, from uint64, count int) {
	frames := make([]umem.Frame, 8)
	for count > 0 {
		n, err := s.ReserveContext(nil, frames[:min(len(frames), count)])
		if err != nil {
			t.Error(err)
			return
		}
		numbered(t, s, frames[:n], from)
		for rest := frames[:n]; len(rest) > 0; {
			k, err := s.Send(rest)
			if err != nil {
				t.Error(err)
				return
			}
			rest = rest[k:]
			if _, err := s.Flush(); err != nil {
				t.Error(err)
				return
			}
		}
		from += uint64(n)
		count -= n
	}
}

// Close ends blocked calls and leaves nothing of the socket's in anybody's hands.
func TestSimClose(t *testing.T) {
	for _, w := range []Wait{Adaptive, Busy} {
		s, k := newSim(t, simConfig{wait: w})
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := s.ReceiveContext(nil, make([]umem.Frame, 1))
				errs <- err
			}()
		}
		held := make([]umem.Frame, 4)
		s.Reserve(held)
		if err := s.Close(); !errors.Is(err, umem.ErrFramesOut) {
			t.Errorf("close with frames out: %v", err)
		}
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("blocked call ended with %v", err)
			}
		}
		if err := s.Release(held); err != nil {
			t.Error(err)
		}
		if sn := s.Snapshot(); sn.Free != sn.Total {
			t.Errorf("after close: %v", sn)
		}
		if err := s.Close(); !errors.Is(err, net.ErrClosed) || k.closes.Load() != 1 {
			t.Errorf("second close: %v, closed %d times", err, k.closes.Load())
		}
	}
}
