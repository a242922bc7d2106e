// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
)

// stream is the test of one sender. The table's lock guards it.
type stream struct {
	id       int
	counter  iperf.Counter
	began    time.Time // when the first datagram came
	heard    time.Time // when the latest did
	ended    bool      // the last has come
	lastSent time.Time // when the last was sent, by the sender's clock

	printed time.Time    // until when it was reported about
	sofar   iperf.Report // what it was then
}

func newStream(id int, now time.Time) *stream {
	return &stream{id: id, began: now, heard: now, printed: now}
}

// part tells about the time since the part before.
func (s *stream) part(now time.Time) []string {
	r := s.counter.Report()
	from, to := s.printed.Sub(s.began), now.Sub(s.began)
	lines := report(s.id, from, to, r.Since(s.sofar))
	s.printed, s.sofar = now, r
	return lines
}

// total tells about the whole, as the sender is told.
func (s *stream) total() []string {
	r := s.counter.Report()
	return report(s.id, 0, r.Duration, r)
}

func report(id int, from, to time.Duration, r iperf.Report) []string {
	lines := []string{iperf.ReceiverLine(id, from, to, r)}
	if r.Reordered > 0 {
		lines = append(lines, iperf.ReorderedLine(id, from, to, r))
	}
	return lines
}
