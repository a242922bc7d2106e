// SPDX-License-Identifier: MIT

package iperf

import (
	"encoding/binary"
	"time"
)

const (
	// ReportLen is how long the answer to the last datagram is: a header's first 16
	// bytes, which nobody looks at, and the report.
	ReportLen = 128

	reportAt    = 16 // where the report begins
	shortReport = 56 // of old receivers, which send no high halves
	highHalves  = 116
)

// Report is what a receiver tells of a test, or of a part of it.
type Report struct {
	Bytes     int64         // of payload received
	Duration  time.Duration // from the first datagram to the last
	Datagrams int64         // sent, as their numbers tell
	Lost      int64         // of these
	Reordered int64         // came after one with a higher number, or twice
	Jitter    time.Duration // see Counter
}

// Since is what was received after p, an earlier report on the same test. Jitter is
// that of now. Datagrams that were late count as lost where they were missed, and
// not where they came.
func (r Report) Since(p Report) Report {
	r.Bytes -= p.Bytes
	r.Duration -= p.Duration
	r.Datagrams -= p.Datagrams
	r.Lost = max(r.Lost-p.Lost, 0)
	r.Reordered -= p.Reordered
	return r
}

// Put writes the answer to the first [ReportLen] bytes of b.
func (r Report) Put(b []byte) {
	b = b[:ReportLen]
	clear(b)
	put := func(at int, v int64) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
	time := func(at int, d time.Duration) {
		us := d.Microseconds()
		put(at, us/1e6)
		put(at+4, us%1e6)
	}
	put(reportAt, flagReport|flagNumber64)
	put(20, r.Bytes>>32)
	put(24, r.Bytes)
	time(28, r.Duration)
	put(36, r.Lost)
	put(40, r.Reordered)
	put(44, r.Datagrams)
	time(48, r.Jitter)
	// In between are sums of transit times, for clocks that agree: not ours.
	put(highHalves, r.Lost>>32)
	put(highHalves+4, r.Reordered>>32)
	put(highHalves+8, r.Datagrams>>32)
}

// ParseReport reads a receiver's answer, and tells whether it is one.
func ParseReport(b []byte) (Report, bool) {
	if len(b) < shortReport {
		return Report{}, false
	}
	get := func(at int) int64 { return int64(binary.BigEndian.Uint32(b[at:])) }
	flags := get(reportAt)
	if flags&flagReport == 0 {
		return Report{}, false
	}
	time := func(at int) time.Duration {
		return time.Duration(get(at))*time.Second + time.Duration(get(at+4))*time.Microsecond
	}
	r := Report{
		Bytes: get(20)<<32 | get(24), Duration: time(28),
		Lost: get(36), Reordered: get(40), Datagrams: get(44), Jitter: time(48),
	}
	if flags&flagNumber64 != 0 && len(b) >= ReportLen {
		r.Lost |= get(highHalves) << 32
		r.Reordered |= get(highHalves+4) << 32
		r.Datagrams |= get(highHalves+8) << 32
	}
	return r, true
}
