// SPDX-License-Identifier: MIT

package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/stats"
)

// TestSummary has one row with latencies and one without.
func TestSummary(t *testing.T) {
	doc := Document{Env: Env{Rows: []Key{{Path: "xdp", Size: 64, Param: "usecs=4"}, {Path: "mmsg", Size: 64}, {Path: "gso", Size: 64}}}}
	for run, rx := range []float64{30, 10, 20} {
		a, b := result("xdp", "native copy", 64, run+1, rx), result("mmsg", "-", 64, run+1, 2*rx)
		a.Param, a.Latency, a.ServiceDemand = "usecs=4", &Latency{P50: 5 * rx, P99: 7 * rx}, 100-rx
		doc.Results = append(doc.Results, a, b)
	}
	got := Settle(doc).Summary
	spread := func(f float64) stats.Summary {
		return stats.Summary{Runs: 3, Median: 20 * f, Min: 10 * f, Max: 30 * f, Low: 10 * f, High: 30 * f, Confidence: 0.75}
	}
	p50, p99 := spread(5), spread(7)
	want := Group{
		Test: "stream", Path: "xdp", Mode: "native copy", Size: 64, Param: "usecs=4", MTU: 1500, Runs: 3, Confidence: 0.75,
		RXPPS: spread(1), GoodputBPS: spread(64 * 8), P50: &p50, P99: &p99,
		ServiceDemand: stats.Summary{Runs: 3, Median: 80, Min: 70, Max: 90, Low: 70, High: 90, Confidence: 0.75},
	}
	if len(got) != 2 || got[1].Path != "mmsg" || got[1].P50 != nil {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
}

// TestSettle: of a row whose mode changed between runs nothing is left but the reason.
func TestSettle(t *testing.T) {
	doc := document()
	before := len(doc.Results)
	got := Settle(doc)
	if slices.ContainsFunc(got.Results, func(r Result) bool { return r.Path == "packet" }) || len(got.Results) != before-2 || len(doc.Results) != before {
		t.Errorf("%d results of %d, %d in what was settled", len(got.Results), before, len(doc.Results))
	}
	last := got.Env.Skipped[len(got.Env.Skipped)-1]
	if last.Path != "packet" || last.Reason != "the mode changed between runs, from native copy to generic copy" {
		t.Errorf("%+v", last)
	}
	if slices.ContainsFunc(got.Summary, func(g Group) bool { return g.Path == "packet" }) || len(got.Summary) != 4 {
		t.Errorf("%+v", got.Summary)
	}
	// It is the same the second time.
	if diff := cmp.Diff(got, Settle(got)); diff != "" {
		t.Error(diff)
	}
	row := Rows(got)[slices.IndexFunc(got.Env.Rows, func(k Key) bool { return k.Path == "packet" })]
	if len(row.Runs) != 0 || !strings.Contains(row.Reason, "mode changed") {
		t.Errorf("%+v", row)
	}
}
