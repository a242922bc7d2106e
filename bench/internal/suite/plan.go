// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A Plan says what to run.
type Plan struct {
	Test     Test
	Rows     []control.Row // in the order of the table
	Duration time.Duration
	Warmup   time.Duration
	Runs     int
	// Patience is how long a link may carry nothing, and a path fail, before
	// the path is given up.
	Patience time.Duration
}

// A Step is one run of one row.
type Step struct {
	control.Row
	Run int // from 1
}

// Key is that of the step's row.
func (s Step) Key() report.Key { return Key(s.Row) }

// Key is what tells a row apart in results.
func Key(r control.Row) report.Key { return report.Key{Path: r.Path, Size: r.Size, Param: r.Param} }

// Steps returns all runs in their order. Rows are interleaved: whatever changes on
// the machine while the bench runs hits all of them alike.
func (p Plan) Steps() []Step {
	var steps []Step
	for run := range p.Runs {
		for _, row := range p.Rows {
			steps = append(steps, Step{Row: row, Run: run + 1})
		}
	}
	return steps
}

// Windows is how many windows a step takes at most, its warm-up not counted.
func (p Plan) Windows() int {
	switch {
	case slices.ContainsFunc(p.Rows, func(r control.Row) bool { return r.Search }):
		return searchMost
	case p.Test.Latency != "":
		return 2
	}
	return 1
}

// Keys are those of all rows.
func (p Plan) Keys() []report.Key {
	var keys []report.Key
	for _, row := range p.Rows {
		keys = append(keys, Key(row))
	}
	return keys
}

// Paths returns the paths of the plan, each once.
func (p Plan) Paths() []string { return distinct(p.Rows, func(r control.Row) string { return r.Path }) }

// Sizes returns its sizes.
func (p Plan) Sizes() []int { return distinct(p.Rows, func(r control.Row) int { return r.Size }) }

// MTUs returns its MTUs.
func (p Plan) MTUs() []int { return distinct(p.Rows, func(r control.Row) int { return r.MTU }) }

// distinct returns what rows have, in the order of the first that has it.
func distinct[T comparable](rows []control.Row, f func(control.Row) T) []T {
	var all []T
	for _, r := range rows {
		if v := f(r); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// Common is what the flags that all tests have ask for.
type Common struct {
	Paths    []string
	Sizes    []int
	MTUs     []int
	Batch    int
	Checksum bool
	Quick    bool // a look: a test with many rows has fewer
}

// Row is one row of it.
func (c Common) Row(path string, size, mtu int) control.Row {
	return control.Row{Path: path, Size: size, Batch: c.Batch, MTU: mtu, Checksum: c.Checksum}
}

// Product is every path at every size and MTU. The paths that compare stand together.
func (c Common) Product() []control.Row {
	var rows []control.Row
	for _, size := range c.Sizes {
		for _, mtu := range c.MTUs {
			for _, path := range c.Paths {
				row := c.Row(path, size, mtu)
				if len(c.MTUs) > 1 {
					row.Param = mtuParam(mtu)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func mtuParam(mtu int) string { return fmt.Sprintf("mtu=%d", mtu) }

// words lists numbers in a sentence.
func words(ns []int) string {
	var texts []string
	for _, n := range ns {
		texts = append(texts, fmt.Sprint(n))
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}
