// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/export"
	"github.com/xdpath/xdpath/bench/internal/page"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// A format is a way to write results.
type format struct {
	name, what string
	write      func(io.Writer, report.Document) error
}

// formats are all that there are, the default first.
func formats() []format {
	return []format{
		{"table", "for people", writeTable},
		{"netperf", "lines of UDP_STREAM and UDP_RR", export.Netperf},
		{"bench", "Go benchmark lines, for benchstat", export.GoBench},
		{"csv", "a line for each run", export.CSV},
		{"json", "everything, for bench report and bench compare", writeJSON},
		{"html", "one page with figures, that loads nothing", writePage},
	}
}

func findFormat(name string) (format, error) {
	var names []string
	for _, f := range formats() {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	return format{}, fmt.Errorf("no format %q, there are %s", name, strings.Join(names, ", "))
}

// columns are those of the document's test.
func columns(doc report.Document) []report.Column {
	test := suite.All()[0]
	for _, r := range doc.Results {
		if t, err := suite.Find(r.Test); err == nil {
			test = t
		}
	}
	return test.Columns()
}

// useHeading stands over the second table.
const useHeading = "Processor time of the machine by what it went into, of the two processes alone, and for each datagram\nreceived; bytes of receive buffer, where there is one:\n"

func writeTable(w io.Writer, doc report.Document) error {
	rows := report.Rows(doc)
	if err := report.WriteTable(w, columns(doc), rows, nil); err != nil {
		return err
	}
	if used := slices.DeleteFunc(slices.Clone(rows), func(r report.Row) bool { return !r.HasUse() }); len(used) > 0 {
		if _, err := io.WriteString(w, useHeading+"\n"); err != nil {
			return err
		}
		if err := report.WriteTable(w, report.UseColumns(), used, nil); err != nil {
			return err
		}
	}
	return report.WriteNotes(w, doc.Env.Notes)
}

func writePage(w io.Writer, doc report.Document) error { return page.Write(w, doc, columns(doc)) }

func writeJSON(w io.Writer, doc report.Document) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// outputs is where results go and how.
type outputs struct {
	formats         string // for standard output, separated by commas
	json, csv, html string // names of files, empty for none
}

func (o *outputs) define(fs *flag.FlagSet) {
	var what []string
	for _, f := range formats() {
		what = append(what, f.name+" ("+f.what+")")
	}
	fs.StringVar(&o.formats, "format", formats()[0].name, "what goes to standard output, separated by commas: "+strings.Join(what, ", "))
	fs.StringVar(&o.json, "json", "", "write everything to this `file`, too")
	fs.StringVar(&o.csv, "csv", "", "write a line for each run to this `file`, too")
	fs.StringVar(&o.html, "html", "", "write a page with figures to this `file`, too")
}

// A sink is an open file and what will be written to it.
type sink struct {
	*file
	format format
}

// open checks what was asked for and opens the files, before there is anything to
// write: what cannot be written is told at once, and not after a minute.
func (o outputs) open() (*writer, error) {
	w := &writer{}
	for name := range strings.SplitSeq(o.formats, ",") {
		f, err := findFormat(name)
		if err != nil {
			return nil, usageError{fmt.Errorf("-format %s: %w", o.formats, err)}
		}
		w.stdout = append(w.stdout, f)
	}
	var names []string
	for _, to := range []struct{ format, name string }{{"json", o.json}, {"csv", o.csv}, {"html", o.html}} {
		if to.name == "" {
			continue
		}
		if slices.Contains(names, to.name) {
			w.discard()
			return nil, usageError{fmt.Errorf("-%s %s: that file is written already", to.format, to.name)}
		}
		names = append(names, to.name)
		f, err := openFile("-"+to.format, to.name)
		if err != nil {
			w.discard()
			return nil, err
		}
		format, _ := findFormat(to.format) // is there
		w.files = append(w.files, sink{f, format})
	}
	return w, nil
}

// A writer has all that is to be written.
type writer struct {
	stdout []format
	files  []sink
}

// write writes all of it, the files first: standard output may be gone.
func (w *writer) write(stdout io.Writer, doc report.Document) error {
	var errs error
	for _, s := range w.files {
		errs = errors.Join(errs, s.commit(func(w io.Writer) error { return s.format.write(w, doc) }))
	}
	for i, f := range w.stdout {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		if err := f.write(stdout, doc); err != nil {
			errs = errors.Join(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errs
}

// discard removes the files that were not written.
func (w *writer) discard() {
	for _, s := range w.files {
		s.discard()
	}
}
