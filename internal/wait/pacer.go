// SPDX-License-Identifier: MIT

package wait

import "time"

// Plan is what to do when there is nothing to receive: look again and again for
// Spin, or sleep by the clock for Nap, or, both being zero or past, sleep in the
// kernel until something comes.
type Plan struct {
	Spin, Nap time.Duration
}

// Pacer makes the plans of an adaptive wait. It rests on three measurements: a
// receiver that spins on an empty ring steals the cache line from the CPU that
// delivers; one that sleeps in the kernel makes that CPU pay for a wakeup each
// batch; and one that sleeps by the clock costs it nothing. So:
//
//   - when much comes in, nap: what arrives meanwhile waits in the ring. If then
//     little does, who sends waits for us, as in a fast ping-pong: no naps for a
//     while, which is twice as long each time and short again after naps that paid;
//   - when little comes in, spin as long as spinning has lately paid, then sleep
//     in the kernel. A spin or sleep that was over soon makes the next spin twice
//     as long as that took, one that found nothing halves it: an idle receiver
//     does not spin at all.
//
// A Pacer is used under its owner's lock.
type Pacer struct {
	MaxSpin time.Duration // longest spin
	Room    int           // frames that can wait in the ring

	spin   time.Duration // how long the next spin may be
	count  int           // frames since start
	start  time.Duration // of the window that the rate is measured over
	stream bool          // much came in during the last window
	slept  time.Duration // when the last sleep in the kernel began; 0: there was none
	before int           // count when it began
	napped bool          // there were naps during this window
	wake   time.Duration // no naps before that
	hold   time.Duration // how long there were none, the last time that naps did not pay
}

const (
	// window is the least time that a rate is measured over.
	window = 100 * time.Microsecond
	// streaming is how many frames a window make a stream: 160,000 a second, which
	// is much for a small board. A ping-pong can make more, 280,000 over veth;
	// what it does while we nap tells.
	streaming = 16
	// burst is how many frames in a row make a stream before the window ends.
	burst = 64
	// nap is how long a nap is asked to be. With the kernel's default timer
	// slack of 50 µs it is up to twice that.
	nap = 50 * time.Microsecond
	// minSpin is the shortest spin: a shorter one finds nothing.
	minSpin = 2 * time.Microsecond
	// minHold and maxHold bound the time without naps. At the latter, naps that
	// do not pay take less than half a percent of a ping-pong's time.
	minHold = time.Millisecond
	maxHold = 64 * time.Millisecond
)

// Got notes that n frames were received.
func (p *Pacer) Got(n int) { p.count += n }

// Next plans the wait that begins now, a time since some fixed moment.
func (p *Pacer) Next(now time.Duration) Plan {
	if slept := now - p.slept; p.slept != 0 {
		// Had we spun instead of sleeping, would it have paid?
		if p.count > p.before && slept < p.MaxSpin {
			p.spin = max(p.spin, min(2*slept, p.MaxSpin))
		}
		p.slept = 0
	}
	if elapsed := now - p.start; elapsed >= window {
		p.stream = time.Duration(p.count)*window >= streaming*elapsed
		p.judge(now)
		p.count, p.before, p.start = 0, 0, now
	} else if p.count >= burst {
		p.stream = true
	}
	// Naps must not overrun the ring, at twice their length and the rate of
	// the least stream; a ring too small for that is watched by spinning.
	if p.napped = p.stream && p.Room >= 4*burst && now >= p.wake; p.napped {
		return Plan{Nap: nap}
	}
	return Plan{Spin: p.spin}
}

// judge tells from the window that ends whether its naps have paid.
func (p *Pacer) judge(now time.Duration) {
	switch {
	case !p.napped:
	case p.stream:
		p.hold = 0
	default:
		p.hold = min(max(2*p.hold, minHold), maxHold)
		p.wake = now + p.hold
	}
}

// Spun notes how a planned spin ended, and after what time.
func (p *Pacer) Spun(found bool, took time.Duration) {
	if found {
		p.spin = max(p.spin, min(2*took, p.MaxSpin))
	} else if p.spin /= 2; p.spin < minSpin {
		p.spin = 0
	}
}

// Sleeps notes that a sleep in the kernel begins now.
func (p *Pacer) Sleeps(now time.Duration) { p.slept, p.before = max(now, 1), p.count }
