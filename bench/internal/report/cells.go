// SPDX-License-Identifier: MIT

package report

// A Grid is a table as texts, for who lays it out otherwise than in a terminal.
type Grid struct {
	Columns []Column // those that tell the rows apart first
	Keys    int      // how many these are
	Lines   []Line
}

// A Line is one row of a grid: a text for each column or, where there are no figures,
// for the Keys first of them and a reason.
type Line struct {
	Cells  []string
	Reason string
}

// NewGrid is what WriteTable would write.
func NewGrid(columns []Column, rows []Row) Grid {
	g := Grid{Columns: keys(rows)}
	g.Keys = len(g.Columns)
	g.Columns = append(g.Columns, columns...)
	for _, r := range rows {
		line := Line{Reason: r.Reason}
		for i, c := range g.Columns {
			if i < g.Keys || len(r.Runs) > 0 {
				line.Cells = append(line.Cells, c.Text(r, rows))
			}
		}
		g.Lines = append(g.Lines, line)
	}
	return g
}
