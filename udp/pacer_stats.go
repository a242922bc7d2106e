// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"strings"
	"time"
)

// PacerStats are the gaps that a [Pacer] has achieved: the time from one call of
// Sent to the next. What lies between two schedules, see Pacer.Pause, is no gap. The
// quantiles and the histogram have a resolution of 3 %; Mean, Min and Worst are
// exact.
//
// With launch times, see Config.LaunchClock, they are the gaps that the device was
// asked for.
type PacerStats struct {
	Gap                         time.Duration // wanted
	Count                       uint64        // gaps that were measured
	Mean                        time.Duration
	Min, Median, P90, P99, P999 time.Duration
	Worst                       time.Duration
	Late                        uint64 // datagrams that were more than half a gap late
	Restarts                    uint64 // of these, so late that a new schedule began
	LongestBurst                int    // most gaps in a row of less than half the one wanted
	Histogram                   []GapBin
}

// GapBin is how many gaps there were from From on and below To.
type GapBin struct {
	From, To time.Duration
	Count    uint64
}

// Stats tells what was achieved so far.
func (p *Pacer) Stats() PacerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &p.gaps
	st := PacerStats{
		Gap: g.wanted, Count: g.count, Min: g.least, Worst: g.worst,
		Median: g.quantile(0.5), P90: g.quantile(0.9), P99: g.quantile(0.99), P999: g.quantile(0.999),
		Late: p.plan.late, Restarts: p.plan.restarts, LongestBurst: g.runs, Histogram: g.filled(),
	}
	if g.count > 0 {
		st.Mean = g.sum / time.Duration(g.count)
	}
	return st
}

const (
	// histogramRows is about how many lines String's histogram has at most.
	histogramRows = 24
	// histogramBar is the length of the longest bar.
	histogramBar = 50
)

// String is a line of figures, and a histogram for a terminal.
func (s PacerStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d gaps of %v: mean %v, min %v, median %v, p90 %v, p99 %v, p99.9 %v, worst %v; %d late, %d restarts, longest burst %d",
		s.Count, s.Gap, short(s.Mean), short(s.Min), short(s.Median), short(s.P90), short(s.P99), short(s.P999), short(s.Worst), s.Late, s.Restarts, s.LongestBurst)
	rows, most := coarser(s.Histogram), uint64(0)
	for _, r := range rows {
		most = max(most, r.Count)
	}
	for _, r := range rows {
		bar := (r.Count*histogramBar + most - 1) / most // something is never drawn as nothing
		fmt.Fprintf(&b, "\n%10v to %-10v %9d %s", short(r.From), short(r.To), r.Count, strings.Repeat("#", int(bar)))
	}
	return b.String()
}

// short leaves three digits or four of a time.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}

// coarser joins bins until few enough are left for a screen: first those of an
// eighth of a doubling, then of a fourth and so on.
func coarser(bins []GapBin) []GapBin {
	for width := subBins / 8; ; width *= 2 {
		var rows []GapBin
		for _, b := range bins {
			i := binOf(b.From) / width * width
			from, to := binFrom(i), binFrom(min(i+width, numBins))
			if n := len(rows) - 1; n >= 0 && rows[n].From == from {
				rows[n].Count += b.Count
			} else {
				rows = append(rows, GapBin{from, to, b.Count})
			}
		}
		if len(rows) <= histogramRows || width >= numBins {
			return rows
		}
	}
}
