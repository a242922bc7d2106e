// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// PacerConfig says how far apart datagrams are to be. One of the two is required.
type PacerConfig struct {
	// Gap is the time from one datagram to the next, from 1 ns to 24 hours.
	Gap time.Duration
	// Rate is datagrams a second. It is exact in the long run, also where the gap
	// that it makes is no whole number of nanoseconds.
	Rate float64
}

// maxGap bounds gaps, so that times do not overflow.
const maxGap = 24 * time.Hour

// Pacer lets datagrams leave evenly: at a given gap or rate, and never in bursts.
// [Queue.SendPaced] uses one; so can a loop of one's own:
//
//	p.Wait(ctx)       // until the next datagram is due
//	q.Send(os[:1])    // with the zero Config.Coalesce
//	p.Sent()          // it has left: the gap is measured
//
// Qdiscs are no alternative: what AF_XDP sends does not pass them.
//
// Each datagram is due one gap after the one before it was, whenever that left: the
// average rate stays, and what was late is caught up with, by gaps of at least half
// the one wanted. A datagram that is more than 10 ms (or a gap, if that is longer)
// late gives the schedule up: a new one begins with it, and Stats counts a restart.
// A sender that stops by itself between trains says so with Pause.
//
// A wait sleeps in the kernel until a little before the datagram is due, and then
// looks at the clock again and again. How little is learnt from how long the sleeps
// take: some 100 µs with Linux's default timer slack, less on a thread with a real-time
// policy. So gaps below that keep one CPU busy; at a gap of 1 ms it is less than a tenth
// of one, the sending included.
//
// Its methods may be called by any number of goroutines, and for several Queues, at
// once. They take turns: each Wait gets a time of its own, in the order of the calls,
// and between two returns there is half a gap at least. What a goroutine does between
// its Wait and its send, is its own: for gaps of a few microseconds let one goroutine
// send. A Pacer needs no closing.
type Pacer struct {
	clock func() time.Duration // time since epoch
	turn  chan struct{}        // who waits for the time of the next datagram has put something in

	mu     sync.Mutex // guards what follows
	plan   schedule
	gaps   gaps
	from   time.Duration // when the latest datagram left, if its gap counts
	inGap  bool
	asleep oversleep
	base   *Conn // whose LaunchClock the times are by; nil: our own clock
}

// NewPacer makes a Pacer. Its first datagram is due at once.
func NewPacer(cfg PacerConfig) (*Pacer, error) {
	var gap float64
	switch least := float64(time.Second) / float64(maxGap); {
	case (cfg.Gap != 0) == (cfg.Rate != 0):
		return nil, errors.New("udp: pacer: Gap or Rate is required, and not both")
	case cfg.Gap < 0 || cfg.Gap > maxGap:
		return nil, fmt.Errorf("udp: pacer: Gap %v: must be from 1 ns to 24 hours", cfg.Gap)
	case cfg.Gap > 0:
		gap = float64(cfg.Gap)
	case math.IsNaN(cfg.Rate) || cfg.Rate < least || cfg.Rate > 1e9:
		return nil, fmt.Errorf("udp: pacer: Rate %v: must be from one datagram in 24 hours to one in a nanosecond", cfg.Rate)
	default:
		gap = float64(time.Second) / cfg.Rate
	}
	p := &Pacer{clock: sinceEpoch, turn: make(chan struct{}, 1), plan: every(gap), asleep: oversleep{firstMargin}}
	p.gaps.wanted = time.Duration(gap)
	return p, nil
}

func sinceEpoch() time.Duration { return time.Since(epoch) }

// Wait returns when the next datagram is due. The time is used up then, whether or not
// a datagram leaves. ctx may be nil.
//
// Errors: the context's.
func (p *Pacer) Wait(ctx context.Context) error {
	_, err := p.wait(ctx, alone{}, timebase{clock: p.clock})
	return err
}

// Sent notes that the datagram that was waited for has left: now.
func (p *Pacer) Sent() { p.sent(p.clock()) }

// Pause says that for now there is nothing to send. Whenever that changes, the next
// datagram is due at once, but a gap after the latest at the earliest; the time
// between them does not count as a gap, nor as late.
func (p *Pacer) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan.pause()
	p.inGap = false
}

// sent notes that a datagram has left at a time.
func (p *Pacer) sent(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inGap {
		p.gaps.add(at - p.from)
	}
	p.from, p.inGap = at, true
	p.plan.left(at)
}
