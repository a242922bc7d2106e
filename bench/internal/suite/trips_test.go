// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// tripSides are the two ends of a run of half a second: 1,000 requests of 512
// bytes, of which 6 got lost, and then 4 answers, of which 1 was late.
func tripSides() (control.Prepare, report.Side, report.Side) {
	p := control.Prepare{Test: rr.Name, Row: control.Row{Path: "xdp", Size: 512, Batch: 1, MTU: 1500}}
	facts := control.Facts{Machine: "a"}
	info := path.Info{Mode: "native copy", Batch: 1}
	tx := report.Side{Facts: facts, Totals: control.Totals{
		Elapsed: time.Second / 2, Sent: 1000, Info: info, Machine: cpu.Times{User: 30, Idle: 70, CPUs: 2},
		Tally: stream.Tally{Received: 991, Duplicated: 1, Reordered: 2},
		Latency: rr.Latency{
			Count: 990, P50: 7123, P90: 8 * time.Microsecond, P99: 12_500, P999: 100 * time.Microsecond, Max: 20 * time.Millisecond,
		},
		Lost: loss.Counts{{Place: loss.Late, N: 1}, {Place: loss.RXRing, N: 2}},
	}}
	rx := report.Side{Facts: facts, Totals: control.Totals{
		Elapsed: time.Minute, Sent: 994, Info: info, Machine: cpu.Times{User: 100, CPUs: 2},
		Tally: stream.Tally{Received: 994, Duplicated: 3},
		Lost:  loss.Counts{{Place: loss.RXRing, N: 6}},
	}}
	return p, tx, rx
}

func TestComputeTrips(t *testing.T) {
	p, tx, rx := tripSides()
	got, err := report.Compute(p, tx, rx, countTrips)
	if err != nil {
		t.Fatal(err)
	}
	want := report.Result{
		Test: "rr", Path: "xdp", Mode: "native copy", Size: 512, MTU: 1500, Batch: 1, Seconds: 0.5,
		TXPPS: 2000, RXPPS: 1980, GoodputBPS: 1980 * 512 * 8, Sent: 1000, Received: 990, Lost: 10, Duplicated: 4, Reordered: 2,
		Loss:    loss.Split{loss.Late: 1, loss.RXRing: 8, loss.Unaccounted: 1},
		CPUUtil: 30, ServiceDemand: 0.6 * 1e6 / 990,
		Latency: &report.Latency{P50: 7.123, P90: 8, P99: 12.5, P999: 100, Max: 20_000},
		Use:     &report.Use{User: 30, PerDatagram: 0.3 * 2e6 / 1980},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
}

// TestComputeTripsRefuses has totals that cannot be.
func TestComputeTripsRefuses(t *testing.T) {
	for name, change := range map[string]func(tx, rx *control.Totals){
		"more in time than came":      func(tx, _ *control.Totals) { tx.Latency.Count = 992 },
		"more came than was answered": func(_, rx *control.Totals) { rx.Sent = 990 },
		"more came than was asked":    func(_, rx *control.Totals) { rx.Tally.Received = 1001 },
		"no time":                     func(tx, _ *control.Totals) { tx.Elapsed = 0 },
	} {
		p, tx, rx := tripSides()
		change(&tx.Totals, &rx.Totals)
		if got, err := report.Compute(p, tx, rx, countTrips); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func trip(path, mode string, size, run int, p50 float64) report.Result {
	return report.Result{
		Test: "rr", Path: path, Mode: mode, Size: size, MTU: 1500, Batch: 1, Run: run, Seconds: 1,
		Sent: uint64(1e6 / p50), Received: uint64(1e6 / p50), TXPPS: 1e6 / p50, RXPPS: 1e6 / p50, GoodputBPS: 8e6 / p50 * float64(size),
		Loss: loss.Split{}, CPUUtil: 40 + p50, ServiceDemand: 3,
		Latency: &report.Latency{P50: p50, P90: p50 * 1.5, P99: p50 * 2.25, P999: p50 * 12, Max: p50 * 1000},
	}
}

// tripDocument is a test of round trips with every kind of row.
func tripDocument() report.Document {
	var doc report.Document
	for run, f := range []float64{1, 0.9, 1.25} {
		doc.Results = append(doc.Results,
			trip("socket", "-", 64, run+1, 40*f),
			trip("socket-spin", "-", 64, run+1, 10*f),
			trip("xdp", "native copy", 64, run+1, 8*f),
			trip("xdp-busy", "native copy", 64, run+1, 7.119*f),
			trip("xdp", "native copy", 1400, run+1, 9.8*f),
		)
	}
	// Figures that do not go together: the run with the least median has the
	// longest tail, and a loss.
	least := &doc.Results[5+2]
	least.Latency.P999, least.Latency.Max, least.Lost, least.Loss = 5000, 49_900, 2, loss.Split{loss.Late: 2}
	least.Received -= 2
	doc.Env.Skipped = []report.Skip{{Key: report.Key{Path: "asavie", Size: 64}, Run: 1, Reason: "sender: no such library"}}
	doc.Env.Rows = rows([]string{"socket", "socket-spin", "asavie", "xdp", "xdp-busy"}, 64, 1400)
	return doc
}

func TestTripTable(t *testing.T) {
	doc := tripDocument()
	var got bytes.Buffer
	if err := report.WriteTable(&got, tripColumns(), report.Rows(doc), []string{"A note."}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/trips.txt", got.Bytes())
}

// TestTripTableWidest fills every column with the widest text to be expected.
func TestTripTableWidest(t *testing.T) {
	r := trip("xdp-packetconn", "native zero-copy", 65507, 1, 1234.5)
	r.RXPPS, r.Lost, r.CPUUtil = 1_234_567, 1234, 100
	*r.Latency = report.Latency{P50: 1234.5, P90: 2345.6, P99: 12345.6, P999: 23456.7, Max: 49_999}
	base := trip("socket", "-", 65507, 1, 12.3)
	var got bytes.Buffer
	doc := report.Document{Results: []report.Result{r, base}}
	doc.Env.Rows = rows([]string{r.Path, base.Path}, r.Size)
	if err := report.WriteTable(&got, tripColumns(), report.Rows(doc), nil); err != nil {
		t.Fatal(err)
	}
	fits(t, got.String())
}

// TestTripSchema holds the names of the results to those that others read: all
// that streams have, and the latencies.
func TestTripSchema(t *testing.T) {
	p, tx, rx := tripSides()
	r, err := report.Compute(p, tx, rx, countTrips)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`test path mode size mtu batch run tx_pps rx_pps goodput_bps sent received lost
		duplicated reordered loss cpu_util_pct service_demand_us_per_kb seconds tx_room_bytes rx_room_bytes tx_seconds rx_seconds
		tx_cpu_util_pct rx_cpu_util_pct tx_service_demand_us_per_kb rx_service_demand_us_per_kb`) {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	want := map[string]any{"p50": 7.123, "p90": 8., "p99": 12.5, "p99.9": 100., "max": 20_000.}
	if diff := cmp.Diff(want, fields["latency_us"]); diff != "" || fields["test"] != "rr" {
		t.Error(diff, fields["test"])
	}
	var back report.Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Error(diff)
	}
}

// TestTripMedians: each figure has the median of its own, and no figure is one
// that no run had.
func TestTripMedians(t *testing.T) {
	for n := 1; n <= 6; n++ {
		var row report.Row
		for i := range n {
			r := trip("xdp", "-", 64, i+1, float64(10+i))
			r.Latency.P99 = float64(100 - i)
			row.Runs = append(row.Runs, r)
		}
		mid := (n - 1) / 2
		if got := row.Middle(median); got != float64(10+mid) {
			t.Errorf("%d runs: p50 %v, want %v", n, got, 10+mid)
		}
		want := 100 - float64(n-1-mid)
		if got := row.Middle(func(r report.Result) float64 { return r.Latency.P99 }); got != want {
			t.Errorf("%d runs: p99 %v, want %v", n, got, want)
		}
	}
}
