// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"syscall"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// SetReceiveDeadline sets when ReceiveContext gives up with
// os.ErrDeadlineExceeded, pending calls included. The zero time is never.
func (s *Socket) SetReceiveDeadline(t time.Time) { s.rxWait.SetDeadline(t) }

// SetSendDeadline does the same for ReserveContext and Drain.
func (s *Socket) SetSendDeadline(t time.Time) { s.txWait.SetDeadline(t) }

// ReceiveContext is Receive that waits until there is a frame, in the way that
// Config.Wait says. Frames that are there are returned even if the deadline has
// passed or ctx, which may be nil, has ended.
//
// While the interface is down it goes on waiting: reception resumes by itself.
//
// Errors: those of Receive; os.ErrDeadlineExceeded; the context's; ErrNoInterface
// (ENXIO) some 100 ms after the interface was deleted or moved to another network
// namespace. Linux before 5.11 tells nothing of that: who must know it there
// watches the interface by netlink.
func (s *Socket) ReceiveContext(ctx context.Context, frames []umem.Frame) (int, error) {
	for {
		n, err := s.Receive(frames)
		if n > 0 || err != nil || len(frames) == 0 {
			return n, err
		}
		if err := s.bound(); err != nil {
			return 0, s.errorf("receive", err)
		}
		if err := s.rxWait.Wait(ctx, source{s}); err != nil {
			return 0, s.errorf("receive", err)
		}
	}
}

// askEvery is how often receivers who wait ask whether the device is still there.
const askEvery = 100 * time.Millisecond

// bound asks now and then whether the socket still has its device. The kernel
// takes it away for good when the device goes (xsk_notifier, net/xdp/xsk.c) and
// wakes nobody: poll(2) is silent for a socket that is not bound.
func (s *Socket) bound() error {
	now, last := int64(time.Since(s.opened)), s.asked.Load()
	if !s.unbound.Load() && now-last >= int64(askEvery) && s.asked.CompareAndSwap(last, now) {
		s.rxMu.Lock()
		if !s.closed.Load() && s.classify(s.os.wakeRx(), false) == gone {
			s.unbound.Store(true)
		}
		s.rxMu.Unlock()
	}
	if s.unbound.Load() {
		return explain(gone, syscall.ENXIO)
	}
	return nil
}

// Ready tells whether Receive will find something, or that the socket is closed.
// It is for who waits for several sockets at once.
func (s *Socket) Ready() bool {
	// The rings of a closed socket are gone, so each look takes the lock.
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	return s.closed.Load() || s.rx != nil && s.rx.Len() > 0
}

// Poke runs the queue's NAPI on this CPU, where busy polling is on, and else tells
// a driver in zero-copy mode of the chunks in the fill ring if it asks for that.
// It is for who waits for several sockets at once without sleeping: poll(2) would
// do it otherwise (xsk_poll, net/xdp/xsk.c).
func (s *Socket) Poke() {
	if s.info.BusyPoll || s.info.Mode == ZeroCopy && s.rings.hungry() {
		s.lockAndWakeFill()
	}
}

// source adds to a socket what a wait.Waiter wants besides.
type source struct{ *Socket }

func (s source) Descriptors(fds []int) []int {
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	if s.closed.Load() {
		return fds
	}
	return append(fds, s.os.poller())
}

const (
	// firstNap and lastNap bound the naps of a sender that waits for
	// completions, for which there is no event to wait for: poll(2) tells of
	// room in the TX ring only (xsk_poll, net/xdp/xsk.c).
	firstNap = 20 * time.Microsecond
	lastNap  = time.Millisecond
)

// ReserveContext is Reserve that waits until there is at least one frame,
// flushing what hinders it.
//
// Errors: those of Reserve and Flush; os.ErrDeadlineExceeded; the context's.
func (s *Socket) ReserveContext(ctx context.Context, frames []umem.Frame) (int, error) {
	for nap := firstNap; ; nap = min(2*nap, lastNap) {
		n, err := s.Reserve(frames)
		if n > 0 || err != nil || len(frames) == 0 {
			return n, err
		}
		if _, err := s.Flush(); err != nil {
			return 0, err
		}
		if err := s.txWait.Sleep(ctx, nap); err != nil {
			return 0, s.errorf("reserve", err)
		}
	}
}

// Drain flushes and waits until the TX ring is empty and all frames that were
// sent have been completed.
//
// Errors: those of Flush; os.ErrDeadlineExceeded; the context's.
func (s *Socket) Drain(ctx context.Context) error {
	return s.drain(func(nap time.Duration) error { return s.txWait.Sleep(ctx, nap) })
}

// drain is Drain that naps as it is told.
func (s *Socket) drain(sleep func(time.Duration) error) error {
	for nap := firstNap; ; nap = min(2*nap, lastNap) {
		left, err := s.Flush()
		if err != nil {
			return err
		}
		if left == 0 && s.area.InTransmission(s.rings.id) == 0 {
			return nil
		}
		if err := sleep(nap); err != nil {
			return s.errorf("drain", err)
		}
	}
}
