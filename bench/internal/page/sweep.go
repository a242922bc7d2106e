// SPDX-License-Identifier: MIT

package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/chart"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A sweep are rows of one size that differ in the value of one parameter.
type sweep struct {
	size   int
	name   string  // of the parameter
	points []point // in the order of the table
	scaled bool    // all values are numbers
}

// A point is a row of a sweep and where it stands.
type point struct {
	row  report.Row
	text string  // the value
	at   float64 // the value as a number, or its place among the others
}

// sweeps finds them. A parameter reads "name=value"; what else it may be is a sweep
// of words without a name.
func sweeps(rows []report.Row) []sweep {
	var all []sweep
	for _, r := range rows {
		if r.Param == "" {
			continue
		}
		name, value, ok := strings.Cut(r.Param, "=")
		if !ok || strings.ContainsAny(value, "= ") {
			name, value = "", r.Param
		}
		i := slices.IndexFunc(all, func(s sweep) bool { return s.size == r.Size && s.name == name })
		if i < 0 {
			all = append(all, sweep{size: r.Size, name: name})
			i = len(all) - 1
		}
		all[i].points = append(all[i].points, point{row: r, text: value})
	}
	for i := range all {
		all[i].scale()
	}
	return all
}

// scale finds the places: by value if all are numbers, in their order if not.
func (s *sweep) scale() {
	s.scaled = true
	for i := range s.points {
		at, ok := number(s.points[i].text)
		s.points[i].at = at
		s.scaled = s.scaled && ok
	}
	if s.scaled {
		return
	}
	var seen []string
	for i, p := range s.points {
		if !slices.Contains(seen, p.text) {
			seen = append(seen, p.text)
		}
		s.points[i].at = float64(slices.Index(seen, p.text))
	}
}

// number reads a value: a number, or a length of time in microseconds.
func number(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, v >= 0
	}
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d) / float64(time.Microsecond), d >= 0
	}
	return 0, false
}

// wide is the ratio of values from which on an axis is logarithmic.
const wide = 20

// axis is the horizontal one, with all values on it.
func (s sweep) axis() chart.Axis {
	a := chart.Axis{Title: s.name}
	if a.Title == "" {
		a.Title = "setting"
	}
	least, most := s.points[0].at, s.points[0].at
	for _, p := range s.points {
		least, most = min(least, p.at), max(most, p.at)
		if !slices.ContainsFunc(a.Ticks, func(t chart.Tick) bool { return t.At == p.at }) {
			a.Ticks = append(a.Ticks, chart.Tick{At: p.at, Text: p.text})
		}
	}
	slices.SortFunc(a.Ticks, func(a, b chart.Tick) int { return cmp.Compare(a.At, b.At) })
	if s.scaled && least > 0 && most/least >= wide {
		a.Log = true
		a.Title += " (log scale)"
	}
	return a
}

// few is up to how many values of a parameter each has a figure of its latencies.
const few = 4

// figures are the curves over the parameter: rates, losses, and latencies where there
// are any.
func (s sweep) figures(paint map[string]int) []figure {
	var rows []report.Row
	at := map[report.Key]float64{}
	trip := false
	for _, p := range s.points {
		rows = append(rows, p.row)
		at[p.row.Key] = p.at
		trip = trip || p.row.HasLatency()
	}
	axis := s.axis()
	if len(axis.Ticks) < enough {
		return s.bars(rows, paint)
	}
	metrics := []metric{packets(), lost(), demand(false)}
	if trip {
		metrics = []metric{packets(), latency("p50", p50), latency("p99", p99), lost()}
	}
	by := strings.TrimSuffix(axis.Title, " (log scale)")
	var all []figure
	for _, m := range metrics {
		shown := rows
		if strings.HasPrefix(m.title, "Round trip") {
			shown = slices.DeleteFunc(slices.Clone(rows), func(r report.Row) bool { return !r.HasLatency() })
		}
		f := lines(shown, m, axis, func(r report.Row) float64 { return at[r.Key] }, paint)
		f.Title = fmt.Sprintf("%s against %s, %d bytes", m.title, by, s.size)
		all = append(all, f)
	}
	if len(axis.Ticks) > few {
		return all
	}
	for _, value := range axis.Ticks {
		var same []report.Row
		for _, p := range s.points {
			if p.at == value.At {
				same = append(same, p.row)
			}
		}
		if f, ok := tail(same, fmt.Sprintf("%d bytes, %s", s.size, same[0].Param), paint); ok {
			all = append(all, f)
		}
	}
	return all
}

// bars are those of too few values for a curve.
func (s sweep) bars(rows []report.Row, paint map[string]int) []figure {
	if len(s.axis().Ticks) == 1 {
		return bars(rows, fmt.Sprintf("%d bytes, %s", s.size, rows[0].Param), pathName, paint)
	}
	name := func(r report.Row) string { return r.Path + " " + strings.TrimPrefix(r.Param, s.name+"=") }
	return bars(rows, strings.TrimSuffix(fmt.Sprintf("%d bytes, by %s", s.size, s.name), ", by "), name, paint)
}
