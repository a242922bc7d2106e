// SPDX-License-Identifier: MIT

package wait

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Forever as a limit is no limit.
const Forever = time.Duration(1<<63 - 1)

// Set is the waits of one kind on one object, which end together: by Close, or
// to look at a new deadline. The zero Set is ready. Its methods may be called by
// any number of goroutines at once.
type Set struct {
	deadline atomic.Int64 // nanoseconds after epoch; 0: none

	mu     sync.Mutex // guards what follows
	idle   []*sleeper
	active []*sleeper
	closed bool
	wakes  uint64    // how often Wake was called
	gone   sync.Cond // an active sleeper has left
}

// sleeper is what one wait needs; it is kept for the next one, so that waiting
// allocates nothing.
type sleeper struct {
	set  *Set
	bell bell
	done <-chan struct{} // of the context that rings our bell when it ends
	stop func() bool     // ends that
}

// epoch is what deadlines count from, so that they follow the monotonic clock.
var epoch = time.Now()

// SetDeadline sets when waits end with os.ErrDeadlineExceeded, pending ones
// included. The zero time is never.
func (s *Set) SetDeadline(t time.Time) {
	var at int64
	if !t.IsZero() {
		if at = int64(t.Sub(epoch)); at <= 0 {
			at = -1 // zero would be none, and what is long ago must not overflow
		}
	}
	s.deadline.Store(at)
	s.mu.Lock()
	s.ring()
	s.mu.Unlock()
}

// left is the time until the deadline.
func (s *Set) left() time.Duration {
	at := s.deadline.Load()
	if at == 0 {
		return Forever
	}
	return time.Duration(at) - time.Since(epoch)
}

// Sleep returns nil when one of fds can be read, when limit has passed, or now
// and then without a reason: the caller looks again and comes back. It returns
// net.ErrClosed after Close, os.ErrDeadlineExceeded after the deadline, and the
// context's error when ctx has ended; ctx may be nil. Signals do not end it.
func (s *Set) Sleep(ctx context.Context, limit time.Duration, fds ...int) error {
	return s.sleep(ctx, limit, anyWake, fds)
}

// anyWake is no number of wakes.
const anyWake = 1<<64 - 1

// woken is how often Wake was called.
func (s *Set) woken() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wakes
}

// sleep is Sleep that returns at once if Wake was called more often than wakes.
func (s *Set) sleep(ctx context.Context, limit time.Duration, wakes uint64, fds []int) error {
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if s.left() <= 0 {
		return os.ErrDeadlineExceeded
	}
	w, err := s.enter(ctx, wakes)
	if w == nil || err != nil {
		return err
	}
	defer s.leave(w)
	// Only now: a deadline that is set from here on rings the bell, and one that
	// was set before is seen.
	left := s.left()
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	return w.bell.sleep(min(limit, left), fds)
}

// Close ends all waits, and returns when they have ended. Later ones end at
// once. Closing again does nothing.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.gone.L = &s.mu
	s.ring()
	for len(s.active) > 0 {
		s.gone.Wait()
	}
	for _, w := range s.idle {
		if w.stop != nil {
			w.stop()
		}
		w.bell.close()
	}
	s.idle = nil
}

// Wake makes all pending waits return nil, and those that a Waiter has begun and
// that are not asleep yet.
func (s *Set) Wake() {
	s.mu.Lock()
	s.wakes++
	s.ring()
	s.mu.Unlock()
}

// ring rings the bell of every pending wait. The lock is held.
func (s *Set) ring() {
	for _, w := range s.active {
		w.bell.ring()
	}
}

// enter registers a sleeper: none if Wake was called more often than wakes.
func (s *Set) enter(ctx context.Context, wakes uint64) (*sleeper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	if wakes != anyWake && wakes != s.wakes {
		return nil, nil
	}
	var w *sleeper
	if n := len(s.idle); n > 0 {
		w, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		b, err := newBell()
		if err != nil {
			return nil, err
		}
		w = &sleeper{set: s, bell: b}
	}
	w.watch(ctx)
	s.active = append(s.active, w)
	return w, nil
}

// watch lets the end of ctx ring the bell. A context that did so for the
// sleeper's last wait still does: contexts are told apart by their channel.
func (w *sleeper) watch(ctx context.Context) {
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	if done == w.done {
		return
	}
	if w.stop != nil {
		w.stop()
	}
	w.done, w.stop = done, nil
	if done != nil {
		w.stop = context.AfterFunc(ctx, w.interrupt)
	}
}

// interrupt rings the bell from a context's goroutine, if there still is one.
func (w *sleeper) interrupt() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.bell.ring()
}

func (s *Set) leave(w *sleeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.active {
		if a == w {
			last := len(s.active) - 1
			s.active[i] = s.active[last]
			s.active = s.active[:last]
			break
		}
	}
	s.idle = append(s.idle, w)
	if s.closed {
		s.gone.Broadcast()
	}
}

// Ended returns what Sleep would end with at once, or nil, without sleeping.
func (s *Set) Ended(ctx context.Context) error {
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if s.left() <= 0 {
		return os.ErrDeadlineExceeded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return nil
}
