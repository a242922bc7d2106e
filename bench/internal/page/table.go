// SPDX-License-Identifier: MIT

package page

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// A head is the top of a column, and a cell what stands beneath. Their class lays them
// out.
type (
	head struct{ Head, Unit, Class string }
	cell struct{ Text, Class string }
)

// A line is a row of the table. Where there are no figures the last cell goes over the
// Rest of the columns.
type line struct {
	Cells  []cell
	First  bool // of its size
	Reason string
	Rest   int
}

// table lays the rows out as those in the terminal.
func table(columns []report.Column, rows []report.Row) ([]head, []line) {
	g := report.NewGrid(columns, rows)
	var heads []head
	for _, c := range g.Columns {
		class := ""
		if c.Words {
			class = "words"
		}
		if c.Head == "path" { // stays in sight when the table is moved
			class = "words path"
		}
		heads = append(heads, head{c.Head, c.Unit, class})
	}
	var lines []line
	for i, l := range g.Lines {
		out := line{First: i == 0 || rows[i].Size != rows[i-1].Size, Reason: l.Reason, Rest: len(heads) - len(l.Cells)}
		for j, text := range l.Cells {
			out.Cells = append(out.Cells, cell{text, heads[j].Class})
		}
		lines = append(lines, out)
	}
	return heads, lines
}

// spread are the columns that a terminal has no room for.
func spread() []report.Column {
	return []report.Column{
		report.Figure("runs", "", func(r report.Row, _ []report.Row) string { return fmt.Sprint(len(r.Runs)) }),
		report.Figure("interval", "of the median", func(r report.Row, _ []report.Row) string {
			of, text := received, report.Mpps
			switch {
			case r.HasLatency():
				of, text = p50, report.Three
			case hasImages(r):
				of, text = demand(false).of, report.Digits
			}
			s := r.Spread(of)
			return fmt.Sprintf("%s..%s, %.0f %%", text(s.Low), text(s.High), 100*s.Confidence)
		}),
	}
}
