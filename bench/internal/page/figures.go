// SPDX-License-Identifier: MIT

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/chart"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A figure is a chart with its caption.
type figure struct {
	Title, Note string
	Chart       template.HTML
}

// enough is from how many sizes, or values of a parameter, on there are lines over
// them. Of fewer there are bars.
const enough = 3

// figures are what a document's rows look like: sweeps of a parameter where there are
// any, or lines over size, or bars; and the distribution of latencies.
func figures(rows []report.Row) []figure {
	paint := slots(rows)
	var all []figure
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return len(r.Runs) > 0 }) {
		return nil // bars of nothing tell less than the reasons do
	}
	for _, s := range sweeps(rows) {
		all = append(all, s.figures(paint)...)
	}
	plain := slices.DeleteFunc(slices.Clone(rows), func(r report.Row) bool { return r.Param != "" })
	sizes := distinct(plain, func(r report.Row) int { return r.Size })
	if len(sizes) >= enough {
		all = append(all, overSize(plain, slices.ContainsFunc(plain, report.Row.HasLatency), paint)...)
	}
	for _, size := range sizes {
		at := slices.DeleteFunc(slices.Clone(plain), func(r report.Row) bool { return r.Size != size })
		if len(sizes) < enough {
			all = append(all, bars(at, fmt.Sprintf("%d bytes", size), pathName, paint)...)
		}
		if f, ok := tail(at, fmt.Sprintf("%d bytes", size), paint); ok {
			all = append(all, f)
		}
	}
	return all
}

// hasImages tells whether the runs of a row are of a camera.
func hasImages(r report.Row) bool { return len(r.Runs) > 0 && r.Runs[0].ImagesSent > 0 }

func distinct[T cmp.Ordered](rows []report.Row, f func(report.Row) T) []T {
	var all []T
	for _, r := range rows {
		if v := f(r); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func pathName(r report.Row) string { return r.Path }

// bars are those of rows that compare with each other, by the names that they have
// beside each other.
func bars(rows []report.Row, where string, name func(report.Row) string, paint map[string]int) []figure {
	metrics := []metric{packets(), demand(false)}
	switch {
	case slices.ContainsFunc(rows, report.Row.HasLatency):
		metrics = []metric{latency("p50", p50), latency("p99", p99)}
	case slices.ContainsFunc(rows, hasImages): // at a rate that is given
		metrics = []metric{demand(false), lost()}
	}
	var all []figure
	for _, m := range metrics {
		b := chart.Bars{Axis: chart.Axis{Title: m.axis}, Label: fmt.Sprintf("Bars: %s in %s, %s; the figures are in the table.", m.title, m.axis, where)}
		for _, r := range rows {
			one := bar(r, m, paint)
			one.Name = name(r)
			b.Bars = append(b.Bars, one)
		}
		note := m.good + "; whiskers from the least to the largest run"
		if m.title == packets().title {
			note += "; paler: what was sent beyond that, and lost"
		}
		all = append(all, figure{m.title + ", " + where, note, b.SVG()})
	}
	return all
}

// shown is the percentage of losses from which on a bar says how much was sent.
const shown = 1

func bar(r report.Row, m metric, paint map[string]int) chart.Bar {
	if len(r.Runs) == 0 {
		return chart.Bar{Missing: r.Reason}
	}
	s := r.Spread(m.of)
	b := chart.Bar{Slot: paint[r.Path], Value: s.Median, Low: s.Min, High: s.Max, Text: m.text(s.Median), Tip: m.tip(r)}
	if m.title == packets().title {
		// The median run's own, so that the paler part is what that run lost.
		mid := r.Median()
		b.Beyond = mid.TXPPS / 1e6
		b.Tip += fmt.Sprintf("; %s %% lost", report.Percent(mid.LostPercent()))
		if mid.LostPercent() >= shown {
			b.Text += " of " + m.text(b.Beyond)
		}
	}
	return b
}

// overSize are lines over payload size, one a path.
func overSize(rows []report.Row, trip bool, paint map[string]int) []figure {
	metrics := []metric{packets(), goodput(), demand(true), lost()}
	if trip {
		metrics = []metric{latency("p50", p50), latency("p99", p99), trips(), demand(true)}
	}
	x := chart.Axis{Title: "payload, bytes (log scale)", Log: true}
	var all []figure
	for _, m := range metrics {
		f := lines(rows, m, x, func(r report.Row) float64 { return float64(r.Size) }, paint)
		f.Title += " against size"
		all = append(all, f)
	}
	return all
}

// lines is a chart of a metric with a line for each path, by where x puts its rows.
func lines(rows []report.Row, m metric, axis chart.Axis, x func(report.Row) float64, paint map[string]int) figure {
	y := m.axis
	if m.log {
		y += " (log scale)"
	}
	l := chart.Lines{X: axis, Y: chart.Axis{Title: y, Log: m.log}, Label: fmt.Sprintf("Lines: %s in %s against %s; the figures are in the table.", m.title, m.axis, axis.Title)}
	for _, path := range distinct(rows, func(r report.Row) string { return r.Path }) {
		s := chart.Series{Name: path, Slot: paint[path]}
		for _, r := range rows {
			if r.Path == path && len(r.Runs) > 0 {
				v := r.Spread(m.of)
				s.Points = append(s.Points, chart.Point{X: x(r), Y: v.Median, Low: v.Min, High: v.Max, Tip: m.tip(r)})
			}
		}
		slices.SortStableFunc(s.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		l.Series = append(l.Series, s)
	}
	return figure{m.title, m.good + "; medians, whiskers from the least to the largest run", l.SVG()}
}
