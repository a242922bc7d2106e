// SPDX-License-Identifier: MIT

package udp

import "time"

const (
	// hopeless is how late a schedule may be, and at least a gap, before it is given
	// up for a new one. What a preempted thread misses is made up for.
	hopeless = 10 * time.Millisecond
	// catchUp is the smallest gap as a part of the one wanted, while what was late
	// is made up for: the rate is doubled meanwhile, and no burst forms.
	catchUp = 2
)

// schedule says when datagrams are due. It reads no clock: times are given to it,
// after some fixed moment.
type schedule struct {
	gap   fraction // from one datagram to the next
	least time.Duration
	limit time.Duration // later than this is hopeless

	begun bool
	due   fraction      // of the next datagram
	last  time.Duration // when the latest left
	any   bool          // one has

	late, restarts uint64
}

// fraction is a time in nanoseconds and 2^-32 parts of one, so that a rate stays
// exact over any number of datagrams: after 2^32 it is a nanosecond off at most.
type fraction struct {
	ns   time.Duration
	part uint32
}

func (f fraction) plus(g fraction) fraction {
	part := f.part + g.part
	if f.ns += g.ns; part < g.part {
		f.ns++
	}
	return fraction{f.ns, part}
}

// every makes a schedule of a gap in nanoseconds.
func every(gap float64) schedule {
	ns := time.Duration(gap)
	s := schedule{gap: fraction{ns, uint32((gap - float64(ns)) * (1 << 32))}}
	s.least, s.limit = ns/catchUp, max(hopeless, ns)
	return s
}

// next is when the next datagram may leave, were it asked for now: when it is due,
// and never sooner after the latest than the least gap. A schedule that has not
// begun, or that is hopelessly late, begins anew.
func (s *schedule) next(now time.Duration) time.Duration {
	switch {
	case !s.begun:
		s.begin(now)
	case now-s.due.ns > s.limit:
		s.restarts++
		s.late++
		s.begin(now)
	}
	if s.any {
		return max(s.due.ns, s.last+s.least)
	}
	return s.due.ns
}

// begin makes a datagram due now, or a whole gap after the latest.
func (s *schedule) begin(now time.Duration) {
	s.begun, s.due = true, fraction{ns: now}
	if s.any && now < s.last+s.gap.ns {
		s.due = fraction{s.last, 0}.plus(s.gap)
	}
}

// leave notes that the next datagram leaves, at a time no earlier than next said.
func (s *schedule) leave(at time.Duration) {
	if at-s.due.ns > s.gap.ns/2 {
		s.late++
	}
	s.due = s.due.plus(s.gap)
	s.left(at)
}

// left notes that a datagram has left, or at least that the one for which leave was
// called took until then.
func (s *schedule) left(at time.Duration) {
	if !s.any || at > s.last {
		s.any, s.last = true, at
	}
}

// pause ends the schedule; next begins another.
func (s *schedule) pause() { s.begun = false }
