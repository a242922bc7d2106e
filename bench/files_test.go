// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/reporttest"
)

// save writes results to a file, as -json does.
func save(t *testing.T, doc report.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeJSON(&b, doc); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// command runs a command that needs no rights.
func runFiles(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status, ok := runCommand(args, &out, &errs)
	if !ok {
		t.Fatalf("%q is no command", args)
	}
	return status, out.String(), errs.String()
}

// TestReport draws results again in every format, each read by another reader.
func TestReport(t *testing.T) {
	for _, doc := range []report.Document{reporttest.Stream(64, 1472), reporttest.Trips(64), reporttest.Sweep("usecs", 0, 4, 16)} {
		name, dir := save(t, doc), t.TempDir()
		page, table, raw := filepath.Join(dir, "p.html"), filepath.Join(dir, "t.csv"), filepath.Join(dir, "r.json")
		status, stdout, stderr := runFiles(t, "report", "-html", page, name, "-csv", table, "-json", raw)
		if status != exitOK || stderr != "" {
			t.Fatalf("exit status %d: %s", status, stderr)
		}
		var want bytes.Buffer
		if err := writeTable(&want, doc); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), stdout); diff != "" {
			t.Error(diff)
		}
		again, err := readFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc, again); diff != "" {
			t.Error(diff)
		}
		if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("</svg>")) {
			t.Errorf("%v: %d bytes of page", err, len(b))
		}
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll(); err != nil || len(lines) != 1+len(doc.Results)+len(doc.Env.Skipped) {
			t.Errorf("%v: %d lines of CSV", err, len(lines))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// TestReportFormats has all formats on standard output, one and several.
func TestReportFormats(t *testing.T) {
	doc := reporttest.Stream(64)
	name := save(t, doc)
	begins := map[string]string{"table": "size  path", "netperf": "UDP UNI", "bench": "goos: linux", "csv": "test,path,mode,size", "json": "{\n", "html": "<!DOCTYPE html>"}
	for _, f := range formats() {
		status, stdout, stderr := runFiles(t, "report", name, "-format", f.name)
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, begins[f.name]) {
			t.Errorf("%s: exit status %d, %s%.100s", f.name, status, stderr, stdout)
		}
	}
	_, stdout, _ := runFiles(t, "report", name, "-format", "netperf,bench")
	if !strings.HasPrefix(stdout, begins["netperf"]) || !strings.Contains(stdout, "\n\n"+begins["bench"]) {
		t.Errorf("%.300s", stdout)
	}
	_, stdout, _ = runFiles(t, "report", name, "-format", "bench")
	lines, r := 0, benchfmt.NewReader(strings.NewReader(stdout), "stdout")
	for r.Scan() {
		if _, ok := r.Result().(*benchfmt.Result); ok {
			lines++
		}
	}
	if lines != len(doc.Results) {
		t.Errorf("%d benchmark lines of %d runs", lines, len(doc.Results))
	}
	_, stdout, _ = runFiles(t, "report", name, "-format", "json")
	var back report.Document
	if err := json.Unmarshal([]byte(stdout), &back); err != nil || len(back.Results) != len(doc.Results) {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	doc := reporttest.Stream(64)
	old, worse, better := save(t, doc), save(t, reporttest.Scale(doc, "xdp", 0.5)), save(t, reporttest.Scale(doc, "xdp", 2))
	other := save(t, reporttest.Trips(64))
	for _, tt := range []struct {
		args []string
		want int
		text string
	}{
		{[]string{old, old}, exitOK, "0 better, 0 worse"},
		{[]string{old, better}, exitOK, "2 better, 0 worse"},
		{[]string{old, worse}, exitBroken, "0 better, 2 worse"},
		{[]string{old, worse, "-least", "101"}, exitOK, "0 better, 0 worse"},
		{[]string{old, other}, exitUsage, "cannot be compared"},
		{[]string{old}, exitUsage, "compare takes old.json new.json, not 1 files"},
		{[]string{old, old, old}, exitUsage, "not 3 files"},
		{[]string{old, old, "-least", "-1"}, exitUsage, "-least -1: must be 0 to 1000"},
		{[]string{old, old, "-least", "NaN"}, exitUsage, "-least NaN"},
		{[]string{"-h"}, exitOK, "usage: bench compare old.json new.json"},
	} {
		status, stdout, stderr := runFiles(t, append([]string{"compare"}, tt.args...)...)
		if status != tt.want || !strings.Contains(stdout+stderr, tt.text) {
			t.Errorf("%q: exit status %d, want %d with %q: %s%s", tt.args, status, tt.want, tt.text, stdout, stderr)
		}
	}
}

// TestBadFiles: a clear sentence, and status 2.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	empty, garbage := filepath.Join(dir, "empty"), filepath.Join(dir, "garbage")
	for name, text := range map[string]string{empty: "", garbage: "\x7fELF\x00"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	good := save(t, reporttest.Stream(64))
	for _, tt := range []struct{ args, want string }{
		{"report " + empty, "read " + empty + ": no results of a bench"},
		{"report " + garbage, "read " + garbage + ": no results of a bench"},
		{"report " + dir, "is a directory"},
		{"report " + filepath.Join(dir, "nosuch"), "no such file"},
		{"report", "report takes results.json, not 0 files"},
		{"report -frobnicate", "not defined"},
		{"report " + good + " -format picture", "no format \"picture\", there are table, netperf, bench, csv, json, html"},
		{"report " + good + " -csv x -html x", "-html x: that file is written already"},
		{"compare " + good + " " + garbage, "read " + garbage},
	} {
		status, stdout, stderr := runFiles(t, strings.Fields(tt.args)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, %s%s", tt.args, status, stdout, stderr)
		}
	}
	if left, _ := filepath.Glob(".x*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	status, _, stderr := runFiles(t, "report", good, "-html", "/nonexistent/dir/out.html")
	if status != exitBroken || !strings.Contains(stderr, "-html /nonexistent/dir/out.html") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}
