// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/compare"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A command is something to do that is no test.
type command struct {
	name, what, args string
	run              func(args []string, stdout, stderr io.Writer) int
}

// commands are those that work on files of results. They need no rights and no Linux.
func commands() []command {
	return []command{
		{"report", "draws results again that -json wrote", "results.json", runReport},
		{"compare", "tells what changed between two files of results beyond the noise", "old.json new.json", runCompare},
	}
}

// runCommand does what the arguments ask for if they begin with a command.
func runCommand(args []string, stdout, stderr io.Writer) (status int, ok bool) {
	for _, c := range append(commands(), systemCommands()...) {
		if len(args) > 0 && args[0] == c.name {
			return c.run(args[1:], stdout, stderr), true
		}
	}
	return 0, false
}

// parseFiles reads flags and names of files, in any order, of which there must be as
// many as wanted are.
func parseFiles(name string, fs *flag.FlagSet, args []string, w io.Writer) ([]string, error) {
	var want command
	for _, c := range commands() {
		if c.name == name {
			want = c
		}
	}
	fs.SetOutput(io.Discard)
	var files []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprintf(w, "usage: bench %s %s [flags]\n\nIt %s.\n\nFlags:\n", want.name, want.args, want.what)
				fs.SetOutput(w)
				fs.PrintDefaults()
				return nil, err
			}
			return nil, usageError{err}
		}
		if args = fs.Args(); len(args) > 0 {
			files, args = append(files, args[0]), args[1:]
		}
	}
	if n := len(strings.Fields(want.args)); len(files) != n {
		return nil, usageError{fmt.Errorf("%s takes %s, not %d files", name, want.args, len(files))}
	}
	return files, nil
}

// readFile reads a file of results.
func readFile(name string) (report.Document, error) {
	f, err := os.Open(name)
	if err != nil {
		return report.Document{}, usageError{err}
	}
	defer func() { _ = f.Close() }()
	doc, err := report.Read(f)
	if err != nil {
		return doc, usageError{fmt.Errorf("read %s: %w", name, err)}
	}
	return doc, nil
}

func runReport(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	var o outputs
	o.define(fs)
	return status(func() error {
		files, err := parseFiles("report", fs, args, stderr)
		if err != nil {
			return err
		}
		doc, err := readFile(files[0])
		if err != nil {
			return err
		}
		out, err := o.open()
		if err != nil {
			return err
		}
		defer out.discard()
		return out.write(stdout, doc)
	}(), stderr)
}

// maxLeast is the largest -least, in percent.
const maxLeast = 1000

func runCompare(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	var cfg compare.Config
	fs.Float64Var(&cfg.Least, "least", 1, "`percent` by which a median must have changed to count. The exit status is 0 if nothing is worse or gone, 1 if something is, 2 if the files cannot be compared")
	regressed := false
	err := func() error {
		files, err := parseFiles("compare", fs, args, stderr)
		if err != nil {
			return err
		}
		if !(cfg.Least >= 0 && cfg.Least <= maxLeast) {
			return usageError{fmt.Errorf("-least %v: must be 0 to %d", cfg.Least, maxLeast)}
		}
		var docs [2]report.Document
		for i, name := range files {
			if docs[i], err = readFile(name); err != nil {
				return err
			}
		}
		c, err := compare.Documents(docs[0], docs[1], cfg)
		if err != nil {
			return usageError{err}
		}
		regressed = c.Regressed()
		return c.Write(stdout)
	}()
	if s := status(err, stderr); s != exitOK || !regressed {
		return s
	}
	return exitBroken
}
