// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
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
// Errors: those of Receive; os.ErrDeadlineExceeded; the context's.
func (s *Socket) ReceiveContext(ctx context.Context, frames []umem.Frame) (int, error) {
	for {
		n, err := s.Receive(frames)
		if n > 0 || err != nil || len(frames) == 0 {
			return n, err
		}
		if err := s.rxWait.Wait(ctx, source{s}); err != nil {
			return 0, s.errorf("receive", err)
		}
	}
}

// Ready tells whether Receive will find something, or that the socket is closed.
// It is for who waits for several sockets at once.
func (s *Socket) Ready() bool {
	// The rings of a closed socket are gone, so each look takes the lock.
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	return s.closed.Load() || s.rx != nil && s.rx.Len() > 0
}

// Poke runs the queue's NAPI on this CPU, where busy polling is on. It is for who
// waits for several sockets at once without sleeping.
func (s *Socket) Poke() {
	if !s.info.BusyPoll {
		return
	}
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	if !s.closed.Load() {
		s.wakeFill()
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
	for nap := firstNap; ; nap = min(2*nap, lastNap) {
		left, err := s.Flush()
		if err != nil {
			return err
		}
		if left == 0 && s.area.InTransmission(s.rings.id) == 0 {
			return nil
		}
		if err := s.txWait.Sleep(ctx, nap); err != nil {
			return s.errorf("drain", err)
		}
	}
}
