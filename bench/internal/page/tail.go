// SPDX-License-Identifier: MIT

package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/chart"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stats"
)

// tail is the distribution of the latencies of rows, and whether there is any. Each
// point is the median over the runs of one percentile: percentiles are never averaged,
// and those of one run alone would not be steady.
func tail(rows []report.Row, where string, paint map[string]int) (figure, bool) {
	most := 50.0
	for _, r := range rows {
		for p := range distribution(r) {
			if p < 100 {
				most = max(most, p)
			}
		}
	}
	axis := chart.NewTail(most)
	l := chart.Lines{
		X: axis.Axis("percentile: each further nine takes the same room"), Y: chart.Axis{Title: "round trip, µs (log scale)", Log: true},
		Bridge: true,
		Label:  "Lines: how long round trips took, by percentile, " + where + "; the figures are in the table.",
	}
	for _, r := range rows {
		s := chart.Series{Name: r.Path, Slot: paint[r.Path]}
		for percent, v := range distribution(r) {
			at := fmt.Sprintf("p%g", percent)
			if percent == 100 {
				at = "longest"
			}
			s.Points = append(s.Points, chart.Point{
				Bare: !axis.Named(percent), X: axis.At(percent), Y: v.Median, Low: v.Min, High: v.Max,
				Tip: fmt.Sprintf("%s, %s: %s µs, median of %d; %s to %s", r.Key, at, report.Three(v.Median), v.Runs, report.Three(v.Min), report.Three(v.Max)),
			})
		}
		slices.SortFunc(s.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		if len(s.Points) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	return figure{"Distribution of round trips, " + where, "less is better; medians over the runs, whiskers from the least to the largest run", l.SVG()}, len(l.Series) > 0
}

// distribution is what the runs of a row say about each percentile that all of them
// have. That of 100 is the longest.
func distribution(r report.Row) map[float64]stats.Summary {
	if !r.HasLatency() {
		return nil
	}
	values := map[float64][]float64{}
	for _, run := range r.Runs {
		for _, p := range run.Latency.Distribution() {
			values[p.Percent] = append(values[p.Percent], p.Micros)
		}
	}
	all := map[float64]stats.Summary{}
	for percent, v := range values {
		if len(v) == len(r.Runs) {
			all[percent] = stats.Summarize(v)
		}
	}
	return all
}
