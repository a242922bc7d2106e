// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"time"
)

// timebase is the clock that a wait is by, and how long before a datagram's time it is
// over.
type timebase struct {
	clock func() time.Duration
	conn  *Conn // whose clock it is; nil: the pacer's
	// With launch times a wait is over when the datagram is due within most; a
	// thread that sleeps wakes when that is in wake; and a datagram gets a time that
	// is in least at the earliest. Otherwise all are 0.
	ahead struct{ least, wake, most time.Duration }
}

// sleeper is what a wait sleeps in: a wait.Set, which its owner's Close ends, or
// alone.
type sleeper interface {
	Sleep(ctx context.Context, limit time.Duration, fds ...int) error
	Ended(ctx context.Context) error
}

// manyLooks is more looks at the clock than a spin takes, unless it stands still: a
// LaunchClock is the caller's.
const manyLooks = 1 << 16

// minNap is the shortest sleep that is worth its system call.
const minNap = 20 * time.Microsecond

// wait returns the time of the next datagram, when that has come, or nearly so, as by
// says.
func (p *Pacer) wait(ctx context.Context, in sleeper, by timebase) (at time.Duration, err error) {
	if err := p.enter(ctx, in); err != nil {
		return 0, err
	}
	defer func() { <-p.turn }()
	for {
		now := by.clock()
		at, early, ok := p.claim(now, by)
		if ok {
			return at, nil
		}
		rest := at - now - early
		if rest < minNap {
			for looks := 1; by.clock() < at; looks++ {
				if looks%manyLooks > 0 {
					continue
				}
				if err := in.Ended(ctx); err != nil {
					return 0, err
				}
			}
			continue
		}
		if err := in.Sleep(ctx, rest); err != nil {
			return 0, err
		}
		p.woke(by.clock() - now - rest)
	}
}

// enter takes a turn, in the order of the calls.
func (p *Pacer) enter(ctx context.Context, in sleeper) error {
	if err := in.Ended(ctx); err != nil {
		return err
	}
	select {
	case p.turn <- struct{}{}:
		return nil
	default:
	}
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	// What else may end it, is asked for now and then.
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case p.turn <- struct{}{}:
			return nil
		case <-done:
			return ctx.Err()
		case <-look.C:
			if err := in.Ended(ctx); err != nil {
				return err
			}
		}
	}
}

// claim gives the next datagram its time if that has come; if not, early is how long
// before it a sleep must end.
func (p *Pacer) claim(now time.Duration, by timebase) (at, early time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base != by.conn { // times by another clock mean nothing
		p.base, p.inGap = by.conn, false
		p.plan.begun, p.plan.any = false, false
	}
	soonest := now + by.ahead.least
	at = max(p.plan.next(soonest), soonest)
	if at-now <= by.ahead.most {
		p.plan.leave(at)
		return at, 0, true
	}
	return at, max(p.asleep.margin, by.ahead.wake), false
}

func (p *Pacer) woke(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asleep.learn(late)
}

// oversleep learns how much later than asked for sleeps end: a little less than three of
// a hundred do so by more than the margin. It counts how many are longer and not by how
// much, for the CPU may have been somebody else's for milliseconds.
type oversleep struct {
	margin time.Duration // a sleep ends this long before there is something to do
}

const (
	firstMargin          = 150 * time.Microsecond
	minMargin, maxMargin = 5 * time.Microsecond, 300 * time.Microsecond
)

// learn takes a sleep into account.
func (o *oversleep) learn(late time.Duration) {
	switch {
	case late < 0: // something else has ended it
	case late > o.margin:
		o.margin = min(o.margin+o.margin/4, maxMargin)
	default:
		o.margin = max(o.margin-o.margin/128, minMargin)
	}
}

// alone is how a Pacer sleeps that no Conn's end has to wake.
type alone struct{}

func (alone) Ended(ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	return ctx.Err()
}

// coarse is how exact a timer is: Go's runtime waits whole milliseconds.
const coarse = 2 * time.Millisecond

// Sleep sleeps for limit, or less: long sleeps by a timer, which ctx can end, and the
// rest in the kernel.
func (alone) Sleep(ctx context.Context, limit time.Duration, _ ...int) error {
	if limit <= 2*coarse {
		nap(limit)
		return nil
	}
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	timer := time.NewTimer(limit - coarse)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-done:
		return ctx.Err()
	}
}
