// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// The paths that the last columns compare with: one that sleeps and one that
// spins.
const (
	tripBaseline = "socket"
	spinBaseline = "socket-spin"
)

// tripColumns show medians over the runs, each figure for itself, but of what is
// rare all that there was: the longest trip of all runs, and the sum of the
// losses.
func tripColumns() []report.Column {
	return []report.Column{
		report.Words("mode", "", func(r report.Row, _ []report.Row) string { return r.Runs[0].Mode }),
		report.Figure("trips", "/s", func(r report.Row, _ []report.Row) string {
			return fmt.Sprintf("%.0f", r.Middle(func(m report.Result) float64 { return m.RXPPS }))
		}),
		report.Figure("p50", "µs", micros(func(l report.Latency) float64 { return l.P50 })),
		report.Figure("min..max", "µs", func(r report.Row, _ []report.Row) string {
			all := r.Sorted(median)
			return report.Three(all[0]) + ".." + report.Three(all[len(all)-1])
		}),
		report.Figure("p90", "µs", micros(func(l report.Latency) float64 { return l.P90 })),
		report.Figure("p99", "µs", micros(func(l report.Latency) float64 { return l.P99 })),
		report.Figure("p99.9", "µs", micros(func(l report.Latency) float64 { return l.P999 })),
		report.Figure("max", "µs", func(r report.Row, _ []report.Row) string { return report.Three(slices.Max(r.Sorted(longest))) }),
		report.Figure("lost", "", func(r report.Row, _ []report.Row) string { return fmt.Sprint(lost(r)) }),
		report.Figure("CPU", "%", func(r report.Row, _ []report.Row) string {
			return fmt.Sprintf("%.0f", r.Middle(func(m report.Result) float64 { return m.CPUUtil }))
		}),
		report.Figure("p50 by", tripBaseline, func(r report.Row, rows []report.Row) string { return compare(r, tripBaseline, rows) }),
		report.Figure("p50 by", "spin", func(r report.Row, rows []report.Row) string { return compare(r, spinBaseline, rows) }),
	}
}

// median and longest are figures of one run.
func median(r report.Result) float64  { return latencyOf(r).P50 }
func longest(r report.Result) float64 { return latencyOf(r).Max }

// latencyOf is that of a run of round trips.
func latencyOf(r report.Result) report.Latency {
	if r.Latency == nil {
		return report.Latency{}
	}
	return *r.Latency
}

// micros shows the median over the runs of one figure.
func micros(f func(report.Latency) float64) func(report.Row, []report.Row) string {
	return func(r report.Row, _ []report.Row) string {
		return report.Three(r.Middle(func(m report.Result) float64 { return f(latencyOf(m)) }))
	}
}

// lost is how many round trips failed, in all runs.
func lost(r report.Row) (n uint64) {
	for _, run := range r.Runs {
		n += run.Lost
	}
	return n
}

// compare divides the median round trip by that of a baseline.
func compare(r report.Row, baseline string, rows []report.Row) string {
	if b, ok := r.Find(baseline, rows); ok && b.Middle(median) > 0 {
		return fmt.Sprintf("%.2f", r.Middle(median)/b.Middle(median))
	}
	return "-"
}
