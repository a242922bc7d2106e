// SPDX-License-Identifier: MIT

package rr

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of the round trips that a histogram tells apart, in nanoseconds, to
// three digits each: the first is the finest step, so that 1 µs has its three
// digits too. Nothing longer than Timeout is ever noted.
const (
	finest  = 1
	longest = int64(10 * time.Second)
	digits  = 3
)

// Latency is the distribution of round trips in a window: their number and, to
// three digits, the times of those that stand at so many percent of it, in the
// order of their length.
type Latency struct {
	Count uint64        `json:"count"`
	P50   time.Duration `json:"p50"` // nanoseconds, as the others
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	P999  time.Duration `json:"p99.9"`
	Max   time.Duration `json:"max"`
	// Percentiles are more of the distribution, from the shortest round trip to the
	// longest, as far into the tail as Count can tell.
	Percentiles []Percentile `json:"percentiles,omitempty"`
}

// A Percentile is how long the round trip at so many percent took. That at 100 is the
// longest.
type Percentile struct {
	Percent float64       `json:"percent"`
	Time    time.Duration `json:"time"` // nanoseconds
}

// shares are the percentages below 100 that are told of a distribution.
var shares = [...]float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999}

// A recorder collects round trips. It allocates nothing after its making.
type recorder struct{ h *hdrhistogram.Histogram }

func newRecorder() recorder { return recorder{hdrhistogram.New(finest, longest, digits)} }

// add notes one round trip. The clock is monotonic; what lies out of bounds all
// the same counts as the bound.
func (r recorder) add(d time.Duration) {
	_ = r.h.RecordValue(min(max(int64(d), finest), longest)) // cannot fail within them
}

// latency returns the distribution so far.
func (r recorder) latency() Latency {
	at := func(percent float64) time.Duration { return time.Duration(r.h.ValueAtPercentile(percent)) }
	l := Latency{Count: uint64(r.h.TotalCount()), P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: time.Duration(r.h.Max())}
	if l.Count == 0 {
		return l
	}
	for _, p := range shares {
		// Beyond a share of one in Count there is the longest only.
		if float64(l.Count)*(100-p) >= 100*(1-1e-9) {
			l.Percentiles = append(l.Percentiles, Percentile{p, at(p)})
		}
	}
	l.Percentiles[0].Time = time.Duration(r.h.Min())
	l.Percentiles = append(l.Percentiles, Percentile{100, l.Max})
	return l
}
