// SPDX-License-Identifier: MIT

package wait

import (
	"testing"
	"time"
)

// clockwork runs a pacer against arrivals at fixed intervals and adds up what
// its plans cost. A nap takes twice its length, a wakeup from the kernel 5 µs.
type clockwork struct {
	p                     Pacer
	closed                bool // the next frame is sent when we have the last
	now, next, interval   time.Duration
	spun, napped, blocked time.Duration
	wakeups, frames       int
	latest                time.Duration // longest that a frame waited
}

func (c *clockwork) run(d time.Duration) {
	const wakeup, frame = 5 * time.Microsecond, 200 * time.Nanosecond
	for end := c.now + d; c.now < end; {
		if n := c.arrived(); n > 0 {
			c.latest = max(c.latest, c.now-c.next)
			c.p.Got(n)
			c.frames += n
			c.next += time.Duration(n) * c.interval
			c.now += time.Duration(n) * frame
			if c.closed {
				c.next = c.now + c.interval
			}
			continue
		}
		plan := c.p.Next(c.now)
		if plan.Nap > 0 {
			c.napped += 2 * plan.Nap
			c.now += 2 * plan.Nap
			continue
		}
		if plan.Spin > 0 {
			took := min(plan.Spin, max(c.next-c.now, 0))
			c.spun += took
			c.now += took
			found := c.arrived() > 0
			c.p.Spun(found, took)
			if found {
				continue
			}
		}
		c.p.Sleeps(c.now)
		wake := max(c.next, c.now) + wakeup
		c.blocked += wake - c.now
		c.wakeups++
		c.now = wake
	}
}

func (c *clockwork) arrived() int {
	if c.now < c.next {
		return 0
	}
	if c.closed {
		return 1
	}
	return min(64, int((c.now-c.next)/c.interval)+1)
}

func TestPacer(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name     string
		interval time.Duration
		room     int
		check    func(t *testing.T, c *clockwork)
		closed   bool
	}{
		{"idle: no CPU", 10 * time.Millisecond, 2048, func(t *testing.T, c *clockwork) {
			if c.spun > second/1000 || c.napped > 0 {
				t.Errorf("spun %v, napped %v", c.spun, c.napped)
			}
		}, false},
		{"ping-pong: found by spinning", 15 * time.Microsecond, 2048, func(t *testing.T, c *clockwork) {
			if c.wakeups > c.frames/100 {
				t.Errorf("%d wakeups for %d frames", c.wakeups, c.frames)
			}
		}, false},
		{"fast ping-pong: naps are soon few", 3 * time.Microsecond, 2048, func(t *testing.T, c *clockwork) {
			if c.napped > second/200 || c.wakeups > c.frames/1000 || c.frames < 300_000 {
				t.Errorf("napped %v, %d wakeups for %d frames", c.napped, c.wakeups, c.frames)
			}
		}, true},
		{"stream to a small board: no wakeups", 5 * time.Microsecond, 2048, func(t *testing.T, c *clockwork) {
			if c.wakeups > 10 || c.spun > second/100 {
				t.Errorf("%d wakeups, spun %v", c.wakeups, c.spun)
			}
		}, false},
		{"slower than a spin may last: asleep", 200 * time.Microsecond, 2048, func(t *testing.T, c *clockwork) {
			if c.spun > second/100 {
				t.Errorf("spun %v in vain", c.spun)
			}
		}, false},
		{"stream: no wakeups to pay for", 800 * time.Nanosecond, 2048, func(t *testing.T, c *clockwork) {
			if c.wakeups > 10 || c.spun > second/100 {
				t.Errorf("%d wakeups, spun %v", c.wakeups, c.spun)
			}
			if c.latest > 300*time.Microsecond {
				t.Errorf("a frame waited %v: the ring would be full", c.latest)
			}
		}, false},
		{"stream into a small ring: watched", 800 * time.Nanosecond, 64, func(t *testing.T, c *clockwork) {
			if c.napped > 0 {
				t.Errorf("napped %v", c.napped)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &clockwork{p: Pacer{MaxSpin: 50 * time.Microsecond, Room: c.room}, interval: c.interval, next: c.interval, closed: c.closed}
			w.run(10 * time.Millisecond) // learns
			*w = clockwork{p: w.p, now: w.now, next: w.next, interval: w.interval, closed: w.closed}
			w.run(second)
			c.check(t, w)
		})
	}
}

// After a stream ends, the receiver soon sleeps in the kernel.
func TestPacerStreamEnds(t *testing.T) {
	w := &clockwork{p: Pacer{MaxSpin: 50 * time.Microsecond, Room: 2048}, interval: time.Microsecond, next: time.Microsecond}
	w.run(10 * time.Millisecond)
	w.next = w.now + 10*time.Second
	w.napped, w.spun, w.wakeups = 0, 0, 0
	w.run(5 * time.Second)
	if w.napped+w.spun > time.Millisecond || w.wakeups != 1 {
		t.Errorf("napped %v, spun %v, %d sleeps", w.napped, w.spun, w.wakeups)
	}
}

// A stream that comes and goes, as the images of a camera do, is napped through
// each time, though each end of it looks like naps that did not pay.
func TestPacerBursts(t *testing.T) {
	w := &clockwork{p: Pacer{MaxSpin: 50 * time.Microsecond, Room: 2048}, interval: time.Microsecond}
	for range 100 {
		w.next, w.napped = w.now+11*time.Millisecond, 0
		w.run(11*time.Millisecond + 5*time.Millisecond)
		if w.napped < 4*time.Millisecond {
			t.Fatalf("napped %v in 5 ms of a stream", w.napped)
		}
	}
}

// A ping-pong that turns into a stream is napped through soon.
func TestPacerPingPongEnds(t *testing.T) {
	w := &clockwork{p: Pacer{MaxSpin: 50 * time.Microsecond, Room: 2048}, interval: 3 * time.Microsecond, next: time.Microsecond, closed: true}
	w.run(time.Second)
	w.closed, w.interval, w.next = false, time.Microsecond, w.now
	w.run(maxHold)
	w.napped = 0
	w.run(100 * time.Millisecond)
	if w.napped < 80*time.Millisecond {
		t.Errorf("napped %v in 100 ms of a stream", w.napped)
	}
}
