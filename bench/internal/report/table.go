// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/xdpath/xdpath/bench/internal/rr"
)

// Width is the most columns that the table and its notes take.
const Width = 120

// reasonColumn is the column from which a row without figures tells why.
const reasonColumn = 2

// A column is one of a test's table.
type column struct {
	head, unit string
	words      bool // aligned to the left
	text       func(r Row, rows []Row) string
}

// columns are those of a test, the first two alike in all.
func columns(test string) []column {
	all := []column{
		{"size", "byte", false, func(r Row, _ []Row) string { return fmt.Sprint(r.Size) }},
		{"path", "", true, func(r Row, _ []Row) string { return r.Path }},
	}
	if test == rr.Name {
		return append(all, tripColumns()...)
	}
	return append(all, streamColumns()...)
}

// WriteTable writes the rows of a test and, beneath them, the notes.
func WriteTable(w io.Writer, test string, rows []Row, notes []string) error {
	cols := columns(test)
	lines := make([][]string, 2, 2+len(rows))
	for _, c := range cols {
		lines[0], lines[1] = append(lines[0], c.head), append(lines[1], c.unit)
	}
	for _, r := range rows {
		lines = append(lines, cells(cols, r, rows))
	}
	widths := columnWidths(lines)
	var b strings.Builder
	for i, cells := range lines {
		if i >= 2 && (i == 2 || rows[i-2].Size != rows[i-3].Size) {
			b.WriteString("\n")
		}
		writeLine(&b, cols, cells, widths)
	}
	b.WriteString("\n")
	for _, n := range notes {
		for i, line := range wrap(n, Width-2) {
			b.WriteString([2]string{"- ", "  "}[min(i, 1)] + line + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells returns the texts of a row, the last one being the reason if it has no
// figures.
func cells(cols []column, r Row, rows []Row) []string {
	var texts []string
	for i, c := range cols {
		if i == reasonColumn && len(r.Runs) == 0 {
			return append(texts, "not run: "+r.Reason)
		}
		texts = append(texts, c.text(r, rows))
	}
	return texts
}

// columnWidths returns how wide each column must be. A reason takes the rest of
// its line and widens nothing.
func columnWidths(lines [][]string) []int {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			if len(cells) == len(widths) || i < reasonColumn {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
	}
	return widths
}

func writeLine(b *strings.Builder, cols []column, cells []string, widths []int) {
	var line strings.Builder
	for i, c := range cells {
		if len(cells) < len(widths) && i == reasonColumn {
			indent := utf8.RuneCountInString(line.String())
			line.WriteString(strings.Join(wrap(c, Width-indent), "\n"+strings.Repeat(" ", indent)))
			break
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if cols[i].words {
			line.WriteString(c + pad)
		} else {
			line.WriteString(pad + c)
		}
		line.WriteString("  ")
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// wrap breaks text at spaces into lines of at most width characters. A longer
// word gets a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
