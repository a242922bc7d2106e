// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"fmt"
	"slices"
)

// A Row is one line of the table: all runs of one path at one size.
type Row struct {
	Size   int
	Path   string
	Runs   []Result // in the order of their receive rate; none if Reason is set
	Reason string   // why there is nothing to show
}

// Rows gathers results and skips into rows, by size and then in the order of
// paths. A path whose runs went by different modes is refused: their median
// would be of nothing.
func Rows(doc Document, paths []string, sizes []int) []Row {
	var rows []Row
	for _, size := range sizes {
		for _, path := range paths {
			row := Row{Size: size, Path: path}
			for _, r := range doc.Results {
				if r.Size == size && r.Path == path {
					row.Runs = append(row.Runs, r)
				}
			}
			for _, s := range doc.Env.Skipped {
				if s.Size == size && s.Path == path {
					row.Reason = s.Reason
				}
			}
			row.settle()
			rows = append(rows, row)
		}
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
