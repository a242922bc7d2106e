// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"time"
)

const (
	// period is the time between two batches. Timers are no more precise, and a
	// thousand wake-ups a second are cheap.
	period = time.Millisecond
	// catchUp is by how many times a batch may exceed what a period has, to make up
	// for a wake-up that came late, and always is what a batch may be at any rate.
	// There is a limit for the receiver's sake: a socket's default buffer holds some
	// 90 datagrams of 1470 bytes.
	catchUp = 4
	always  = 32
	// most bounds a batch whatever the rate.
	most = 1 << 14
)

// pacer says when how many datagrams are due for an even rate. It looks at the time
// since the beginning, so that what is late once does not stay late; the rate is
// exact in the long run, and batches are its grain.
type pacer struct {
	gap  float64 // nanoseconds from datagram to datagram
	most int     // in a batch
	sent int64
}

func newPacer(gap float64) *pacer {
	return &pacer{gap: gap, most: int(min(max(catchUp*float64(period)/gap, always), most))}
}

// due is how many to send now, at a time since the beginning.
func (p *pacer) due(since time.Duration) int {
	due := int64(float64(since)/p.gap) + 1 - p.sent // the first is due at once
	return int(max(min(due, int64(p.most)), 0))
}

// next is when to look again: in a period, or when the next datagram is due if that
// is later.
func (p *pacer) next(since time.Duration) time.Duration {
	at := min(float64(p.sent)*p.gap, float64(math.MaxInt64/2))
	return max(time.Duration(at)-since, period)
}
