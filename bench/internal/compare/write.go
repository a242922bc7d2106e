// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stats"
)

// Write writes the comparison as a table, with what makes it doubtful before it and
// what came of it behind.
func (c Comparison) Write(w io.Writer) error {
	var b strings.Builder
	for _, s := range c.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", s)
	}
	if len(c.Warnings) > 0 {
		b.WriteString("\n")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	with := slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Key.Param != "" })
	row := func(size any, path, param, rest string) {
		if with {
			path += "\t" + param
		}
		fmt.Fprintf(t, "%v\t%s\t%s\n", size, path, rest)
	}
	row("size", "path", "with", "figure\told (min..max)\tnew (min..max)\tchange\tp\t")
	for _, ch := range c.Changes {
		row(ch.Key.Size, ch.Key.Path, ch.Key.Param, ch.text())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("\n" + c.sentence() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// text is a change, from its figure on.
func (ch Change) text() string {
	if ch.Figure == "" {
		s := strings.Repeat("\t", 5) + string(ch.Verdict)
		if ch.Reason != "" {
			s += ": " + ch.Reason
		}
		return s
	}
	change := "from 0"
	if !math.IsInf(ch.Change, 0) {
		change = fmt.Sprintf("%+.1f %%", ch.Change)
	}
	return strings.Join([]string{ch.Figure, spread(ch.Old), spread(ch.New), change, fmt.Sprintf("%.3f", ch.P), string(ch.Verdict)}, "\t")
}

func spread(s stats.Summary) string {
	return fmt.Sprintf("%s (%s..%s)", report.Digits(s.Median), report.Digits(s.Min), report.Digits(s.Max))
}

// sentence sums up.
func (c Comparison) sentence() string {
	figures, few := 0, false
	for _, ch := range c.Changes {
		if ch.Figure != "" {
			figures++
			few = few || stats.LeastP(ch.Old.Runs, ch.New.Runs) >= alpha
		}
	}
	s := fmt.Sprintf("%d figures: %d better, %d worse, %d perhaps.", figures, c.count(Better), c.count(Worse), c.count(Perhaps))
	if n := c.count(Gone); n > 0 {
		s += fmt.Sprintf(" %d rows are gone.", n)
	}
	if n := c.count(New); n > 0 {
		s += fmt.Sprintf(" %d rows are new.", n)
	}
	if few {
		s += " Where there are fewer than four runs on a side, ranges were compared, which tells less: take -runs 5 or more."
	}
	if expected := alpha * float64(figures); expected >= 1 {
		s += fmt.Sprintf(" Of so many figures about %.0f differ by chance.", expected)
	}
	return s
}
