// SPDX-License-Identifier: MIT

package iperf

import "time"

// Counter keeps the accounts of one test at the receiver, as iperf does. The zero
// value is ready. It is for one goroutine at a time.
//
// A number that is skipped is a loss, until it comes: then it was out of order. A
// datagram that comes twice cannot be told from one that is late, and takes a loss
// off the account, here as there.
type Counter struct {
	begun   bool
	first   time.Time // arrival of the first datagram
	last    time.Time // arrival of the latest
	highest int64     // number
	skipped int64
	late    int64
	bytes   int64
	transit time.Duration // of the latest, with the difference of the two clocks in it
	jitter  float64       // nanoseconds
}

// Add takes a datagram of so many bytes into account. The last datagram counts as
// one too, but only once: see [Header.Last].
func (c *Counter) Add(h Header, bytes int, arrived time.Time) {
	number := h.Number
	if h.Last() {
		number = -number
	}
	transit := arrived.Sub(h.Sent)
	switch {
	case c.begun:
		// RFC 3550, 6.4.1: how much the time on the way changes from datagram to
		// datagram, smoothed. The clocks' difference cancels out.
		c.jitter += (float64((transit - c.transit).Abs()) - c.jitter) / 16
	case number == 0: // of a sender that counts from 0
		c.highest = -1
	}
	if !c.begun {
		c.begun, c.first, c.last = true, arrived, arrived
	}
	if number > c.highest {
		c.skipped += number - c.highest - 1
		c.highest = number
	} else {
		c.late++
	}
	if arrived.After(c.last) {
		c.last = arrived
	}
	c.bytes += int64(bytes)
	c.transit = transit
}

// Report is the account so far.
func (c *Counter) Report() Report {
	return Report{
		Bytes: c.bytes, Duration: c.last.Sub(c.first),
		Datagrams: max(c.highest, 0), Lost: max(c.skipped-c.late, 0), Reordered: c.late,
		Jitter: time.Duration(c.jitter),
	}
}
