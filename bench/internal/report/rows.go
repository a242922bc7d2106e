// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"fmt"
	"slices"
)

// A Row is one line of the table: all runs of one path at one size and with one
// further parameter.
type Row struct {
	Key
	Runs   []Result // in the order of their receive rate; none if Reason is set
	Reason string   // why there is nothing to show
}

// Rows gathers results and skips into the rows of the table. A row whose runs went
// by different modes is refused: their median would be of nothing.
func Rows(doc Document) []Row {
	var rows []Row
	for _, key := range doc.Env.Rows {
		row := Row{Key: key}
		for _, r := range doc.Results {
			if r.Key() == key {
				row.Runs = append(row.Runs, r)
			}
		}
		for _, s := range doc.Env.Skipped {
			if s.Key == key {
				row.Reason = s.Reason
			}
		}
		row.settle()
		rows = append(rows, row)
	}
	return rows
}

func (r *Row) settle() {
	if len(r.Runs) == 0 {
		if r.Reason == "" {
			r.Reason = "no run finished"
		}
		return
	}
	r.Reason = ""
	for _, run := range r.Runs[1:] {
		if run.Mode != r.Runs[0].Mode {
			r.Reason = fmt.Sprintf("the mode changed between runs, from %s to %s", r.Runs[0].Mode, run.Mode)
			r.Runs = nil
			return
		}
	}
	slices.SortStableFunc(r.Runs, func(a, b Result) int { return cmp.Compare(a.RXPPS, b.RXPPS) })
}

// Median is the run with the median receive rate, the lower one of two. The
// row has runs.
func (r Row) Median() Result { return r.Runs[(len(r.Runs)-1)/2] }

// Least and Most are the smallest and the largest receive rate of the row.
func (r Row) Least() float64 { return r.Runs[0].RXPPS }

// Most is documented with Least.
func (r Row) Most() float64 { return r.Runs[len(r.Runs)-1].RXPPS }

// Middle is the median over the runs of one figure, the lower one of two.
func (r Row) Middle(f func(Result) float64) float64 {
	all := r.Sorted(f)
	return all[(len(all)-1)/2]
}

// Sorted returns one figure of all runs in its order.
func (r Row) Sorted(f func(Result) float64) []float64 {
	var all []float64
	for _, run := range r.Runs {
		all = append(all, f(run))
	}
	slices.Sort(all)
	return all
}

// Find returns the row of another path at the same size and with the same
// parameter, and whether there is one that ran.
func (r Row) Find(path string, rows []Row) (Row, bool) {
	key := r.Key
	key.Path = path
	for _, o := range rows {
		if o.Key == key && len(o.Runs) > 0 {
			return o, true
		}
	}
	return Row{}, false
}
