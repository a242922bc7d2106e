// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the most columns that the table and its notes take.
const Width = 120

// Baseline is the path that the last column compares with.
const Baseline = "mmsg"

// reasonColumn is the column from which a row without figures tells why.
const reasonColumn = 2

var header = [2][]string{
	{"size", "path", "mode", "sent", "recv", "min..max", "goodput", "lost", "where", "CPU", "demand", "times"},
	{"byte", "", "", "Mpps", "Mpps", "Mpps", "", "%", "", "%", "µs/KB", Baseline},
}

// leftAligned are the columns that hold words.
var leftAligned = map[int]bool{1: true, 2: true, 8: true}

// WriteTable writes rows and, beneath them, the notes.
func WriteTable(w io.Writer, rows []Row, notes []string) error {
	lines := [][]string{header[0], header[1]}
	for _, r := range rows {
		lines = append(lines, cells(r, rows))
	}
	widths := columnWidths(lines)
	var b strings.Builder
	for i, cells := range lines {
		if i >= 2 && (i == 2 || rows[i-2].Size != rows[i-3].Size) {
			b.WriteString("\n")
		}
		writeLine(&b, cells, widths)
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
func cells(r Row, rows []Row) []string {
	if len(r.Runs) == 0 {
		return []string{fmt.Sprint(r.Size), r.Path, "not run: " + r.Reason}
	}
	m := r.Median()
	return []string{
		fmt.Sprint(r.Size), r.Path, m.Mode, mpps(m.TXPPS), mpps(m.RXPPS), mpps(r.Least()) + ".." + mpps(r.Most()),
		bitrate(m.GoodputBPS), percent(m), where(m), fmt.Sprintf("%.0f", m.CPUUtil), digits(m.ServiceDemand), ratio(m, rows),
	}
}

func mpps(pps float64) string { return digits(pps / 1e6) }

// digits shows as much of a number as is worth reading, in six characters for
// all that can be expected.
func digits(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.3f", v)
	case v < 100:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.1f", v)
	}
}

func bitrate(bps float64) string {
	if bps >= 1e9 {
		return fmt.Sprintf("%.2f Gb/s", bps/1e9)
	}
	return fmt.Sprintf("%.0f Mb/s", bps/1e6)
}

// percent shows that something was lost even where it rounds to nothing.
func percent(r Result) string {
	p := r.LostPercent()
	switch {
	case p > 0 && p < 0.01:
		return "<0.01"
	case p < 10:
		return fmt.Sprintf("%.2f", p)
	default:
		return fmt.Sprintf("%.1f", p)
	}
}

// where names the place of most losses.
func where(r Result) string {
	place, ok := r.Loss.Main()
	if !ok {
		return "-"
	}
	if len(r.Loss) > 1 {
		return fmt.Sprintf("%s +%d", place, len(r.Loss)-1)
	}
	return string(place)
}

// ratio compares what m received with what the baseline did at that size.
func ratio(m Result, rows []Row) string {
	for _, r := range rows {
		if r.Path == Baseline && r.Size == m.Size && len(r.Runs) > 0 && r.Median().RXPPS > 0 {
			return fmt.Sprintf("%.2f", m.RXPPS/r.Median().RXPPS)
		}
	}
	return "-"
}

// columnWidths returns how wide each column must be. A reason takes the rest of
// its line and widens nothing.
func columnWidths(lines [][]string) []int {
	widths := make([]int, len(header[0]))
	for _, cells := range lines {
		for i, c := range cells {
			if len(cells) == len(widths) || i < reasonColumn {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
	}
	return widths
}

func writeLine(b *strings.Builder, cells []string, widths []int) {
	var line strings.Builder
	for i, c := range cells {
		if len(cells) < len(widths) && i == reasonColumn {
			indent := utf8.RuneCountInString(line.String())
			line.WriteString(strings.Join(wrap(c, Width-indent), "\n"+strings.Repeat(" ", indent)))
			break
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if leftAligned[i] {
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
