// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
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
func tripColumns() []column {
	return []column{
		{"mode", "", true, func(r Row, _ []Row) string { return r.Runs[0].Mode }},
		{"trips", "/s", false, func(r Row, _ []Row) string {
			return fmt.Sprintf("%.0f", r.middle(func(m Result) float64 { return m.RXPPS }))
		}},
		{"p50", "µs", false, micros(func(l Latency) float64 { return l.P50 })},
		{"min..max", "µs", false, func(r Row, _ []Row) string {
			all := r.sorted(median)
			return three(all[0]) + ".." + three(all[len(all)-1])
		}},
		{"p90", "µs", false, micros(func(l Latency) float64 { return l.P90 })},
		{"p99", "µs", false, micros(func(l Latency) float64 { return l.P99 })},
		{"p99.9", "µs", false, micros(func(l Latency) float64 { return l.P999 })},
		{"max", "µs", false, func(r Row, _ []Row) string { return three(slices.Max(r.sorted(longest))) }},
		{"lost", "", false, func(r Row, _ []Row) string { return fmt.Sprint(r.lost()) }},
		{"CPU", "%", false, func(r Row, _ []Row) string {
			return fmt.Sprintf("%.0f", r.middle(func(m Result) float64 { return m.CPUUtil }))
		}},
		{"p50 by", tripBaseline, false, func(r Row, rows []Row) string { return compare(r, tripBaseline, rows) }},
		{"p50 by", "spin", false, func(r Row, rows []Row) string { return compare(r, spinBaseline, rows) }},
	}
}

// median and longest are figures of one run.
func median(r Result) float64  { return r.latency().P50 }
func longest(r Result) float64 { return r.latency().Max }

// latency is that of a run of round trips.
func (r Result) latency() Latency {
	if r.Latency == nil {
		return Latency{}
	}
	return *r.Latency
}

// micros shows the median over the runs of one figure.
func micros(f func(Latency) float64) func(Row, []Row) string {
	return func(r Row, _ []Row) string { return three(r.middle(func(m Result) float64 { return f(m.latency()) })) }
}

// middle is the median over the runs of one figure, the lower one of two.
func (r Row) middle(f func(Result) float64) float64 {
	all := r.sorted(f)
	return all[(len(all)-1)/2]
}

func (r Row) sorted(f func(Result) float64) []float64 {
	var all []float64
	for _, run := range r.Runs {
		all = append(all, f(run))
	}
	slices.Sort(all)
	return all
}

// lost is how many round trips failed, in all runs.
func (r Row) lost() (n uint64) {
	for _, run := range r.Runs {
		n += run.Lost
	}
	return n
}

// three shows three digits, which is what there are.
func three(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// compare divides the median round trip by that of a baseline at that size.
func compare(r Row, baseline string, rows []Row) string {
	for _, b := range rows {
		if b.Path == baseline && b.Size == r.Size && len(b.Runs) > 0 && b.middle(median) > 0 {
			return fmt.Sprintf("%.2f", r.middle(median)/b.middle(median))
		}
	}
	return "-"
}
