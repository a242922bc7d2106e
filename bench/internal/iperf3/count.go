// SPDX-License-Identifier: MIT

package iperf3

import (
	"math"
	"time"
)

// Count is what the receiver of one stream counts, as iperf 3 does.
type Count struct {
	Bytes      uint64
	Received   uint64 // datagrams that arrived
	Packets    uint64 // the highest counter, which is how many were sent up to that
	Lost       uint64 // gaps in the counters that have not been filled since
	OutOfOrder uint64
	Jitter     float64 // in seconds, smoothed (RFC 1889)

	transit time.Duration // of the last one
}

// Add counts a datagram of a size that arrived at a time, by any clock.
func (c *Count) Add(h Header, size int, at time.Duration) {
	c.Bytes += uint64(size)
	transit := at - h.Sent
	if c.Received > 0 {
		c.Jitter += (math.Abs((transit - c.transit).Seconds()) - c.Jitter) / 16
	}
	c.transit = transit
	c.Received++
	switch {
	case h.Counter > c.Packets:
		c.Lost += h.Counter - c.Packets - 1
		c.Packets = h.Counter
	default:
		c.OutOfOrder++
		if c.Lost > 0 {
			c.Lost--
		}
	}
}
