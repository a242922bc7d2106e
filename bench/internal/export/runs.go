// SPDX-License-Identifier: MIT

package export

import (
	"cmp"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// runs are all runs of the table's rows, row after row, each in the order in which
// they ran.
func runs(doc report.Document) []report.Result {
	var all []report.Result
	for _, row := range report.Rows(doc) {
		of := slices.Clone(row.Runs)
		slices.SortFunc(of, func(a, b report.Result) int { return cmp.Compare(a.Run, b.Run) })
		all = append(all, of...)
	}
	return all
}
