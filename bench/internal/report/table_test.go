// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/loss"
)

func result(path, mode string, size, run int, rx float64) Result {
	sent := uint64(rx * 1.1)
	received := uint64(rx)
	return Result{
		Test: "stream", Path: path, Mode: mode, Size: size, MTU: 1500, Batch: 64, Run: run,
		TXPPS: float64(sent), RXPPS: rx, GoodputBPS: rx * float64(size) * 8, Seconds: 1,
		Sent: sent, Received: received, Lost: sent - received, Loss: loss.Split{loss.Socket: sent - received},
		CPUUtil: 99.6, ServiceDemand: 12.3456,
	}
}

// document is a bench of every kind of row.
func document() Document {
	var doc Document
	for run, rx := range []float64{700_000, 650_000.4, 812_345} {
		doc.Results = append(doc.Results,
			result("mmsg", "-", 64, run+1, rx),
			result("xdp", "native copy", 64, run+1, rx*2.7),
			result("mmsg", "-", 1472, run+1, rx*0.7),
		)
		jumbo := result("xdp", "native copy", 64, run+1, rx*2.6)
		jumbo.MTU, jumbo.Param = 8000, "mtu=8000"
		doc.Results = append(doc.Results, jumbo)
	}
	changed := result("packet", "native copy", 64, 1, 5)
	doc.Results = append(doc.Results, changed)
	changed.Mode, changed.Run = "generic copy", 2
	doc.Results = append(doc.Results, changed)
	doc.Env.Rows = []Key{{"mmsg", 64, ""}, {"packet", 64, ""}, {"asavie", 64, ""}, {"xdp", 64, ""}, {"xdp", 64, "mtu=8000"}, {"mmsg", 1472, ""}, {"xdp", 1472, ""}}
	doc.Env.Skipped = []Skip{
		{Key: Key{Path: "asavie", Size: 64}, Run: 1, Reason: "no such library"},
		{Key: Key{Path: "xdp", Size: 64}, Run: 3, Reason: "one of three runs failed"},
	}
	return doc
}

// TestRows: runs and reasons are in the row that they belong to.
func TestRows(t *testing.T) {
	rows := Rows(document())
	reasons := []string{"", "the mode changed between runs", "no such library", "", "", "", "no run finished"}
	if len(rows) != len(reasons) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if (r.Reason == "") != (reasons[i] == "") || !strings.HasPrefix(r.Reason, reasons[i]) {
			t.Errorf("%v: reason %q, want %q", r.Key, r.Reason, reasons[i])
		}
		if want := 3; r.Reason == "" && len(r.Runs) != want {
			t.Errorf("%v: %d runs, want %d", r.Key, len(r.Runs), want)
		}
	}
	if o, ok := rows[3].Find("mmsg", rows); !ok || o.Key != rows[0].Key {
		t.Errorf("found %v, %t", o.Key, ok)
	}
	if o, ok := rows[4].Find("mmsg", rows); ok {
		t.Errorf("%v for a row of another MTU", o.Key)
	}
	if o, ok := rows[5].Find("xdp", rows); ok {
		t.Errorf("%v, which has not run", o.Key)
	}
}

// TestTable has a column for the parameter where there is one, and a row with a
// reason that ends with it.
func TestTable(t *testing.T) {
	cols := []Column{Words("mode", "", Of(func(r Result) string { return r.Mode })), Figure("recv", "Mpps", Of(func(r Result) string { return Mpps(r.RXPPS) }))}
	rows := Rows(document())
	for with, want := range map[int]string{
		2: `size  path    mode   recv
byte                 Mpps

  64  mmsg    -     0.700
  64  packet  not run: the mode changed between runs, from native copy to generic copy

- A note.
`,
		5: `size  path    with      mode          recv
byte                                  Mpps

  64  mmsg              -            0.700
  64  packet            not run: the mode changed between runs, from native copy to generic copy
  64  asavie            not run: no such library
  64  xdp               native copy  1.890
  64  xdp     mtu=8000  native copy  1.820

- A note.
`,
	} {
		var got bytes.Buffer
		if err := WriteTable(&got, cols, rows[:with], []string{"A note."}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		rates []float64
		want  float64
	}{
		{[]float64{5}, 5},
		{[]float64{5, 3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2},
		{[]float64{5, 4, 3, 2, 1}, 3},
	} {
		var doc Document
		for i, r := range tt.rates {
			doc.Results = append(doc.Results, result("mmsg", "-", 64, i+1, r))
		}
		doc.Env.Rows = []Key{{Path: "mmsg", Size: 64}}
		row := Rows(doc)[0]
		if got := row.Median().RXPPS; got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.rates, got, tt.want)
		}
		if row.Least() != slices.Min(tt.rates) || row.Most() != slices.Max(tt.rates) {
			t.Errorf("%v: least %v, most %v", tt.rates, row.Least(), row.Most())
		}
	}
}

// TestSchema holds the names of the results to those that others read.
func TestSchema(t *testing.T) {
	doc := document()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	var results []map[string]any
	if err := json.Unmarshal(b, &top); err != nil {
		t.Fatal(err)
	}
	if len(top) != 3 || top["env"] == nil || top["summary"] == nil {
		t.Errorf("%d members at the top", len(top))
	}
	if err := json.Unmarshal(top["results"], &results); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`test path mode size param mtu batch run tx_pps rx_pps goodput_bps sent received lost
		duplicated reordered loss cpu_util_pct service_demand_us_per_kb seconds tx_room_bytes rx_room_bytes tx_seconds rx_seconds
		tx_cpu_util_pct rx_cpu_util_pct tx_service_demand_us_per_kb rx_service_demand_us_per_kb images_sent images_complete`)
	for _, r := range results {
		var got []string
		for name := range r {
			got = append(got, name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	var back Document
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Results, doc.Results) {
		t.Error("results read back differ")
	}
}

// TestDemandFromJSON computes the service demand of each result from the other
// figures in the file alone.
func TestDemandFromJSON(t *testing.T) {
	p, tx, rx := sides()
	r, err := Compute(p, tx, rx, OneWay)
	if err != nil {
		t.Fatal(err)
	}
	const cpus = 2 // env.cpus
	want := r.CPUUtil * 10_000 * cpus / (float64(r.Received) * float64(r.Size) / 1024 / r.Seconds)
	if diff := r.ServiceDemand/want - 1; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("%v µs/KB, from the file %v", r.ServiceDemand, want)
	}
}
