// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"runtime"
	"time"

	"github.com/xdpath/xdpath/internal/wait"
	"github.com/xdpath/xdpath/umem"
)

// epoch is what the pacer's times count from.
var epoch = time.Now()

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
		s.rxMu.Lock()
		n, err := s.receive(frames)
		if n > 0 || err != nil || len(frames) == 0 {
			s.rxMu.Unlock()
			return n, err
		}
		plan := s.plan()
		s.rxMu.Unlock()
		if err := s.pause(ctx, plan); err != nil {
			return 0, s.errorf("receive", err)
		}
	}
}

// plan says how to wait now. The receive lock is held.
func (s *Socket) plan() wait.Plan {
	switch s.cfg.Wait {
	case Block:
		return wait.Plan{}
	case Busy:
		return wait.Plan{Spin: wait.Forever}
	}
	plan := s.pace.Next(time.Since(epoch))
	if plan.Nap > 0 {
		s.rxN.naps++
	}
	return plan
}

// pause carries the plan out; nil means to look at the ring again.
func (s *Socket) pause(ctx context.Context, plan wait.Plan) error {
	if plan.Nap > 0 {
		return s.rxWait.Sleep(ctx, plan.Nap)
	}
	if plan.Spin > 0 {
		if found, err := s.spin(ctx, plan.Spin); found || err != nil {
			return err
		}
	}
	s.rxMu.Lock()
	if s.closed.Load() {
		s.rxMu.Unlock()
		return s.rxWait.Sleep(ctx, 0)
	}
	s.rxN.sleeps++
	s.pace.Sleeps(time.Since(epoch))
	fd := s.os.poller()
	s.rxMu.Unlock()
	return s.rxWait.Sleep(ctx, wait.Forever, fd)
}

const (
	// looks is how many looks at the clock lie between two at the ring: a
	// spinning consumer must not keep the producer's cache line to itself.
	looks = 8
	// checks is how many looks at the ring lie between two at what else may
	// end a spin.
	checks = 64
)

// spin looks at the RX ring again and again for up to limit. The rings of a
// closed socket are gone, so each look takes the lock.
func (s *Socket) spin(ctx context.Context, limit time.Duration) (found bool, err error) {
	start := time.Since(epoch)
	for i := 1; ; i++ {
		var took time.Duration
		for range looks {
			took = time.Since(epoch) - start
		}
		s.rxMu.Lock()
		found = s.closed.Load() || s.rx.Len() > 0
		if found || took >= limit {
			s.pace.Spun(found, took)
			s.rxMu.Unlock()
			return found, nil
		}
		if s.cfg.Wait == Busy && s.info.BusyPoll {
			s.wakeFill() // runs the queue's NAPI on this CPU
		}
		s.rxMu.Unlock()
		if i%checks == 0 {
			if err := s.rxWait.Ended(ctx); err != nil {
				return false, err
			}
			if limit == wait.Forever {
				runtime.Gosched() // others may share the CPU
			}
		}
	}
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
