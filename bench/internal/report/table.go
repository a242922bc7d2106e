// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Width is the most columns that the table and its notes take.
const Width = 120

// A Column is one of a test's table.
type Column struct {
	Head, Unit string
	Words      bool                           // aligned to the left
	Text       func(r Row, rows []Row) string // may be of several lines
}

// Figure is a column of numbers, aligned to the right.
func Figure(head, unit string, text func(Row, []Row) string) Column {
	return Column{Head: head, Unit: unit, Text: text}
}

// Words is a column of words, aligned to the left.
func Words(head, unit string, text func(Row, []Row) string) Column {
	return Column{Head: head, Unit: unit, Text: text, Words: true}
}

// Of shows something of a row's median run.
func Of(f func(Result) string) func(Row, []Row) string {
	return func(r Row, _ []Row) string { return f(r.Median()) }
}

// keys are the columns that tell the rows apart: the first two, or three where
// there are parameters.
func keys(rows []Row) []Column {
	cols := []Column{
		Figure("size", "byte", func(r Row, _ []Row) string { return fmt.Sprint(r.Size) }),
		Words("path", "", func(r Row, _ []Row) string { return r.Path }),
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Param != "" }) {
		cols = append(cols, Words("with", "", func(r Row, _ []Row) string { return r.Param }))
	}
	return cols
}

// A table is what is being written.
type table struct {
	cols   []Column
	keys   int // of them, which stand in every row; a row without figures then tells why
	widths []int
}

// WriteTable writes rows with the columns of their test and, beneath them, the
// notes.
func WriteTable(w io.Writer, columns []Column, rows []Row, notes []string) error {
	t := table{cols: keys(rows)}
	t.keys = len(t.cols)
	t.cols = append(t.cols, columns...)
	lines := make([][]string, 2, 2+len(rows))
	for _, c := range t.cols {
		lines[0], lines[1] = append(lines[0], c.Head), append(lines[1], c.Unit)
	}
	for _, r := range rows {
		lines = append(lines, t.cells(r, rows))
	}
	t.measure(lines)
	var b strings.Builder
	for i, cells := range lines {
		if i >= 2 && (i == 2 || rows[i-2].Size != rows[i-3].Size) {
			b.WriteString("\n")
		}
		t.writeRow(&b, cells)
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return WriteNotes(w, notes)
}

// WriteNotes writes what stands beneath a table.
func WriteNotes(w io.Writer, notes []string) error {
	var b strings.Builder
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
func (t *table) cells(r Row, rows []Row) []string {
	var texts []string
	for i, c := range t.cols {
		if i == t.keys && len(r.Runs) == 0 {
			return append(texts, "not run: "+r.Reason)
		}
		texts = append(texts, c.Text(r, rows))
	}
	return texts
}

// measure finds how wide each column must be. A reason takes the rest of its line
// and widens nothing.
func (t *table) measure(lines [][]string) {
	t.widths = make([]int, len(t.cols))
	for _, cells := range lines {
		for i, c := range cells {
			if len(cells) < len(t.cols) && i >= t.keys {
				break
			}
			for text := range strings.SplitSeq(c, "\n") {
				t.widths[i] = max(t.widths[i], utf8.RuneCountInString(text))
			}
		}
	}
}

// writeRow writes the texts of a row, those that have several lines below each other.
func (t *table) writeRow(b *strings.Builder, cells []string) {
	for more := true; more; {
		line := slices.Clone(cells)
		more = false
		for i, c := range cells {
			var cut bool
			line[i], cells[i], cut = strings.Cut(c, "\n")
			more = more || cut
		}
		t.writeLine(b, line)
	}
}

func (t *table) writeLine(b *strings.Builder, cells []string) {
	var line strings.Builder
	for i, c := range cells {
		if len(cells) < len(t.cols) && i == t.keys {
			indent := utf8.RuneCountInString(line.String())
			line.WriteString(strings.Join(wrap(c, Width-indent), "\n"+strings.Repeat(" ", indent)))
			break
		}
		pad := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c))
		if t.cols[i].Words {
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
