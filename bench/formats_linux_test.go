// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/reporttest"
	"github.com/xdpath/xdpath/bench/internal/suite"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestFormats runs the bench once and has it write everything in all ways at once.
// Other readers than its own read them.
func TestFormats(t *testing.T) {
	testnet.Require(t)
	dir := t.TempDir()
	raw, table, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "t.csv"), filepath.Join(dir, "p.html")
	args := strings.Fields("-paths mmsg,xdp -duration 100ms -runs 3 -format table,bench,netperf -json " + raw + " -csv " + table + " -html " + page)
	var stdout, stderr bytes.Buffer
	if status := run(args, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	doc := read(t, raw)
	if len(doc.Results) != 2*2*3 || len(doc.Summary) != 4 || doc.Summary[0].Runs != 3 {
		t.Fatalf("%d results, skipped %+v, summary %+v", len(doc.Results), doc.Env.Skipped, doc.Summary)
	}
	demandInTable(t, raw, stdout.String())
	_, lines, _ := strings.Cut(stdout.String(), "\ngoos: linux")
	lines, netperf, _ := strings.Cut(lines, "\nUDP UNIDIRECTIONAL")
	count, r := 0, benchfmt.NewReader(strings.NewReader(lines), "stdout")
	for r.Scan() {
		if _, ok := r.Result().(*benchfmt.Result); ok {
			count++
		}
	}
	if count != len(doc.Results) || strings.Count("\nUDP UNIDIRECTIONAL"+netperf, "\nUDP UNIDIRECTIONAL") != len(doc.Results) {
		t.Errorf("%d benchmark lines of %d runs: %s", count, len(doc.Results), stdout.String())
	}
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := csv.NewReader(bytes.NewReader(b)).ReadAll(); err != nil || len(all) != 1+len(doc.Results) {
		t.Errorf("%v: %d lines of CSV", err, len(all))
	}
	if b, err := os.ReadFile(page); err != nil || bytes.Count(b, []byte("</svg>")) != 4 {
		t.Errorf("%v: %d figures", err, bytes.Count(b, []byte("</svg>")))
	}
	// The same again from the file.
	_, again, _ := runFiles(t, "report", raw, "-format", "table,bench,netperf")
	if again != stdout.String() {
		t.Errorf("drawn again:\n%s\nwas\n%s", again, stdout.String())
	}
}

// demandInTable computes the service demand of each row of the table from the raw
// figures of the file alone, with no type of the bench's own: busy microseconds of all
// processors for each KB received, of the run with the median receive rate.
func demandInTable(t *testing.T, file, table string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Env struct {
			CPUs float64 `json:"cpus"`
		}
		Results []map[string]any
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := regexp.MustCompile(`  +`).Split(strings.TrimSpace(line), -1)
		if len(cells) != 12 || cells[0] != "64" && cells[0] != "1472" {
			continue
		}
		var runs []map[string]any
		for _, r := range doc.Results {
			if r["path"] == cells[1] && fmt.Sprint(r["size"]) == cells[0] {
				runs = append(runs, r)
			}
		}
		slices.SortFunc(runs, func(a, b map[string]any) int { return cmp.Compare(a["rx_pps"].(float64), b["rx_pps"].(float64)) })
		m := runs[(len(runs)-1)/2]
		kb := m["received"].(float64) * m["size"].(float64) / 1024
		us := m["cpu_util_pct"].(float64) / 100 * doc.Env.CPUs * m["seconds"].(float64) * 1e6
		if want := report.Digits(us / kb); cells[10] != want {
			t.Errorf("demand %s, from the file %s: %s", cells[10], want, line)
		}
		rows++
	}
	if rows != 4 {
		t.Errorf("%d rows in the table:\n%s", rows, table)
	}
}

// TestDocumentRefuses: what went by two modes is in no result, and says so.
func TestDocumentRefuses(t *testing.T) {
	plan := suite.Plan{Test: suite.All()[0]}
	plan.Rows = suite.Common{Paths: []string{"xdp", "mmsg"}, Sizes: []int{64}, MTUs: []int{1500}}.Product()
	var out referee.Outcome
	for run, mode := range []string{"native copy", "generic copy"} {
		out.Results = append(out.Results,
			reporttest.Run(report.Key{Path: "xdp", Size: 64}, mode, run+1, 100, 0), reporttest.Run(report.Key{Path: "mmsg", Size: 64}, "-", run+1, 100, 0))
	}
	doc := document(options{plan: plan}, out, 0)
	if len(doc.Results) != 2 || doc.Results[0].Path != "mmsg" || len(doc.Env.Skipped) != 1 || len(doc.Summary) != 1 {
		t.Fatalf("%+v", doc)
	}
	var table bytes.Buffer
	if err := writeTable(&table, doc); err != nil || !strings.Contains(table.String(), "not run: the mode changed between runs, from native copy to generic copy") {
		t.Errorf("%v: %s", err, table.String())
	}
}
