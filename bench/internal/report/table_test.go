// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
func document() (Document, []string, []int) {
	var doc Document
	for run, rx := range []float64{700_000, 650_000.4, 812_345} {
		doc.Results = append(doc.Results,
			result("socket", "-", 64, run+1, rx*0.8),
			result("mmsg", "-", 64, run+1, rx),
			result("gso", "segmented", 64, run+1, rx*1.5),
			result("xdp", "native copy", 64, run+1, rx*2.7),
			result("mmsg", "-", 1472, run+1, rx*0.7),
		)
	}
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Path != "xdp" {
			continue
		}
		r.Lost, r.Loss = 0, loss.Split{}
		if r.Run == 1 { // the median
			r.Lost = 7
			r.Loss = loss.Split{loss.RXRing: 4, loss.FillRing: 3}
		}
	}
	changed := result("packet", "native copy", 64, 1, 5)
	doc.Results = append(doc.Results, changed)
	changed.Mode, changed.Run = "generic copy", 2
	doc.Results = append(doc.Results, changed)
	doc.Env.Skipped = []Skip{
		{Path: "asavie", Size: 64, Run: 1, Reason: "receiver: open asavie socket on xp1b queue 0: syscall.Bind SockaddrXDP failed: " +
			"operation not permitted, and a good deal more that needs a second line to be told in full"},
		{Path: "xdp", Size: 64, Run: 3, Reason: "one of three runs failed"},
	}
	return doc, []string{"socket", "mmsg", "gso", "asavie", "packet", "xdp"}, []int{64, 1472}
}

func TestTable(t *testing.T) {
	doc, paths, sizes := document()
	var got bytes.Buffer
	notes := []string{"A short note.", strings.Repeat("A long note that is wrapped. ", 8)}
	if err := WriteTable(&got, stream.Name, Rows(doc, paths, sizes), notes); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(got.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestTableWidest fills every column with the widest text to be expected.
func TestTableWidest(t *testing.T) {
	r := result("socket", "native zero-copy", 65507, 1, 98_765_432)
	r.GoodputBPS = 98.76e9
	r.Loss = loss.Split{loss.FillRing: 2, loss.RXRing: 1}
	r.ServiceDemand = 1234.5678
	r.Sent, r.Lost = 100, 100
	var got bytes.Buffer
	if err := WriteTable(&got, stream.Name, Rows(Document{Results: []Result{r}}, []string{r.Path}, []int{r.Size}), nil); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%d columns: %s", n, line)
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
		row := Rows(doc, []string{"mmsg"}, []int{64})[0]
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
	doc, _, _ := document()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	var results []map[string]any
	if err := json.Unmarshal(b, &top); err != nil {
		t.Fatal(err)
	}
	if len(top) != 2 || top["env"] == nil {
		t.Errorf("%d members at the top", len(top))
	}
	if err := json.Unmarshal(top["results"], &results); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`test path mode size mtu batch run tx_pps rx_pps goodput_bps sent received lost
		duplicated reordered loss cpu_util_pct service_demand_us_per_kb seconds`)
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
	r, err := Compute(p, tx, rx)
	if err != nil {
		t.Fatal(err)
	}
	const cpus = 2 // env.cpus
	want := r.CPUUtil * 10_000 * cpus / (float64(r.Received) * float64(r.Size) / 1024 / r.Seconds)
	if diff := r.ServiceDemand/want - 1; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("%v µs/KB, from the file %v", r.ServiceDemand, want)
	}
}
