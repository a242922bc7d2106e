// SPDX-License-Identifier: MIT

package page

import (
	_ "embed" // of the template and the styles
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/report"
)

//go:embed page.html
var text string

//go:embed page.css
var styles string

// content is what the template shows.
type content struct {
	Title    string
	Subtitle string
	Styles   template.CSS
	Figures  []figure
	Columns  []head
	Lines    []line
	Missing  []report.Row // rows without figures
	Notes    []string
	Facts    []fact
}

// A fact is a line about the environment.
type fact struct{ Name, Value string }

// Write writes the page. The columns are those of the document's test.
func Write(w io.Writer, doc report.Document, columns []report.Column) error {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return fmt.Errorf("read the template of the page: %w", err)
	}
	rows := report.Rows(doc)
	heads, lines := table(append(columns[:len(columns):len(columns)], spread()...), rows)
	test := "stream"
	for _, r := range doc.Results {
		test = r.Test
	}
	c := content{
		Title:    "UDP bench: " + test,
		Subtitle: strings.Join(nonempty(doc.Env.Time.Format("2006-01-02 15:04 MST"), "Linux "+doc.Env.Kernel, doc.Env.CPUModel, doc.Env.Link), " · "),
		Styles:   template.CSS(styles),
		Figures:  figures(rows),
		Columns:  heads,
		Lines:    lines,
		Notes:    doc.Env.Notes,
		Facts:    facts(doc.Env),
	}
	for _, r := range rows {
		if len(r.Runs) == 0 {
			c.Missing = append(c.Missing, r)
		}
	}
	if err := t.Execute(w, c); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// facts are those that a reader needs to know what the figures are of.
func facts(e report.Env) []fact {
	f := []fact{
		{"Command", strings.Join(e.Command, " ")},
		{"Kernel", strings.Join(nonempty("Linux "+e.Kernel, e.Arch), ", ")},
		{"Go", e.Go},
		{"Processor", fmt.Sprintf("%s, %d CPUs", e.CPUModel, e.CPUs)},
		{"Link", e.Link},
		{"Each run", fmt.Sprintf("%g s after %g s of warm-up", e.Duration, e.Warmup)},
		{"Busy before", fmt.Sprintf("%.1f %% of the machine", e.BusyBefore)},
		{"Sender on CPU", list(e.Sender.Pinned)},
		{"Receiver on CPU", list(e.Receiver.Pinned)},
	}
	if e.Sender.Machine != e.Receiver.Machine {
		f = append(f, fact{"Receiver's machine", fmt.Sprintf("Linux %s, %s, %d CPUs, %s", e.Receiver.Kernel, e.Receiver.CPUModel, e.Receiver.CPUs, e.Receiver.Go)})
	}
	return f
}

func list(cpus []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ", "), "[]")
}

// nonempty leaves out what says nothing.
func nonempty(texts ...string) []string {
	var kept []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			kept = append(kept, t)
		}
	}
	return kept
}
