// SPDX-License-Identifier: MIT

package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/reporttest"
)

func text(t *testing.T, write func(io.Writer, report.Document) error, doc report.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNetperf wants lines of the shape of those that people have posted of netperf -c
// -C, to the byte: of 1,400 bytes and "10.00     2100620      0     2351.7", and of
// transactions.
func TestNetperf(t *testing.T) {
	key := report.Key{Path: "mmsg", Size: 1400}
	stream := report.Result{
		Test: "stream", Path: key.Path, Mode: "-", Size: 1400, MTU: 1500, Run: 1, Seconds: 10, Sent: 2100620, Received: 2100539, Lost: 81,
		Loss: loss.Split{loss.Socket: 81}, CPUUtil: 36.69,
	}
	doc := report.Document{Env: reporttest.Env(), Results: []report.Result{stream}}
	doc.Env.Rows = []report.Key{key}
	doc.Env.Buffers = []report.Buffer{{Key: key, Got: 212992}}
	doc.Env.CPUs = 4
	want := `UDP UNIDIRECTIONAL SEND TEST from sender to receiver : mmsg : run 1
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

     0    1400   10.00     2100620      0     2352.7     36.69    5.110 
212992           10.00     2100539            2352.6     36.69    5.110 

`
	if diff := cmp.Diff(want, text(t, Netperf, doc)); diff != "" {
		t.Error(diff)
	}
	trip := report.Result{
		Test: "rr", Path: key.Path, Mode: "native copy", Size: 1400, Param: "usecs=4", MTU: 1500, Run: 2, Seconds: 10, Sent: 65914, Received: 65914,
		RXPPS: 6591.45, CPUUtil: 1.5, Latency: &report.Latency{P50: 100},
	}
	doc.Results = []report.Result{trip}
	doc.Env.Rows = []report.Key{trip.Key()}
	want = `UDP REQUEST/RESPONSE TEST from client to server : mmsg : native copy : usecs=4 : run 2 : first burst 0
Local /Remote
Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem
Send   Recv   Size    Size   Time    Rate     local  remote local   remote
bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr

0      0      1400    1400   10.00   6591.45  1.50   1.50   9.103   9.103 
0      0     

`
	if diff := cmp.Diff(want, text(t, Netperf, doc)); diff != "" {
		t.Error(diff)
	}
}

// TestNetperfErrors: what was not sent is an error, and not okay.
func TestNetperfErrors(t *testing.T) {
	r := reporttest.Run(report.Key{Path: "xdp", Size: 64}, "-", 1, 900, 100)
	r.Loss = loss.Split{loss.Send: 30, loss.TXRing: 20, loss.Socket: 50}
	doc := report.Document{Env: reporttest.Env(), Results: []report.Result{r}}
	doc.Env.Rows = []report.Key{r.Key()}
	if got := text(t, Netperf, doc); !strings.Contains(got, "       950     50    ") {
		t.Error(got)
	}
}

// TestGoBench has the reader that benchstat uses read the lines.
func TestGoBench(t *testing.T) {
	docs := map[string]report.Document{"stream": reporttest.Stream(64, 1472), "trips": reporttest.Trips(64), "sweep": reporttest.Sweep("usecs", 0, 16)}
	for name, doc := range docs {
		r := benchfmt.NewReader(strings.NewReader(text(t, GoBench, doc)), name)
		var got []*benchfmt.Result
		for r.Scan() {
			switch rec := r.Result().(type) {
			case *benchfmt.Result:
				got = append(got, rec.Clone())
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", name, rec)
			}
		}
		if err := r.Err(); err != nil || len(got) != len(doc.Results) {
			t.Fatalf("%s: %v: %d lines of %d runs", name, err, len(got), len(doc.Results))
		}
		seen := map[string]int{}
		for _, g := range got {
			seen[g.Name.String()]++
			if g.GetConfig("goos") != "linux" || g.GetConfig("kernel") != "6.18.0" || g.GetConfig("cpu") != doc.Env.CPUModel {
				t.Errorf("%s: configuration %+v", name, g.Config)
			}
		}
		for n, lines := range seen {
			if lines != 3 {
				t.Errorf("%s: %s has %d lines, want one for each of 3 runs", name, n, lines)
			}
		}
		checkBench(t, name, doc, got)
		if u := r.Units(); u[benchfmt.UnitMetadataKey{Unit: "pkts/s", Key: "better"}] == nil {
			t.Errorf("%s: nobody says which way pkts/s are better", name)
		}
	}
}

// checkBench compares the figures of the lines with those of the runs.
func checkBench(t *testing.T, name string, doc report.Document, got []*benchfmt.Result) {
	t.Helper()
	for _, m := range doc.Results {
		full := fmt.Sprintf("/path=%s/size=%d/mtu=1500", m.Path, m.Size)
		found := slices.ContainsFunc(got, func(g *benchfmt.Result) bool {
			pps, _ := g.Value("pkts/s")
			us, _ := g.Value("us/KB")
			lost, _ := g.Value("lost-%")
			ns, _ := g.Value("sec/op") // the reader makes seconds of ns
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Abs(b) }
			return strings.Contains(string(g.Name), full) && strings.HasSuffix(string(g.Name), "-2") && g.Iters == int(m.Received) &&
				near(pps, m.RXPPS) && near(us, m.ServiceDemand) && near(lost, m.LostPercent()) && near(ns, 1/m.RXPPS)
		})
		if !found {
			t.Errorf("%s: no line of %+v", name, m)
		}
	}
}

// TestGoBenchNames: names that the format would not bear.
func TestGoBenchNames(t *testing.T) {
	r := reporttest.Run(report.Key{Path: "my path/x", Size: 64, Param: "frames=16 mtu=9000, busy"}, "-", 1, 0, 5)
	doc := report.Document{Env: reporttest.Env(), Results: []report.Result{r}}
	doc.Env.Rows = []report.Key{r.Key()}
	doc.Env.CPUModel = "two\nlines: of"
	lines := text(t, GoBench, doc)
	reader := benchfmt.NewReader(strings.NewReader(lines), "x")
	for reader.Scan() {
		if e, ok := reader.Result().(*benchfmt.SyntaxError); ok {
			t.Errorf("%v in %s", e, lines)
		}
	}
	if !strings.Contains(lines, "BenchmarkStream/path=my_path_x/size=64/mtu=1500/frames=16/with=busy-2\t") || !strings.Contains(lines, "cpu: two lines: of\n") {
		t.Error(lines)
	}
}

// TestCSV has a reader of CSV read the lines, and compares all of them with JSON.
func TestCSV(t *testing.T) {
	for name, doc := range map[string]report.Document{"stream": reporttest.Stream(64), "trips": reporttest.Trips(64)} {
		lines, err := csv.NewReader(strings.NewReader(text(t, CSV, doc))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		runs, skips := 0, 0
		for _, line := range lines[1:] {
			cells := map[string]string{}
			for i, n := range lines[0] {
				cells[n] = line[i]
			}
			if cells["skipped"] != "" {
				skips++
				if cells["path"] != "xdp-zerocopy" || cells["size"] != "64" || cells["rx_pps"] != "" || cells["skipped"] != doc.Env.Skipped[0].Reason {
					t.Errorf("%s: %v", name, cells)
				}
				continue
			}
			runs++
			i := slices.IndexFunc(doc.Results, func(r report.Result) bool {
				return r.Path == cells["path"] && strconv.Itoa(r.Run) == cells["run"]
			})
			if i < 0 {
				t.Fatalf("%s: %v", name, cells)
			}
			compareJSON(t, "", doc.Results[i], cells)
		}
		if runs != len(doc.Results) || skips != len(doc.Env.Skipped) {
			t.Errorf("%s: %d runs and %d skips, want %d and %d", name, runs, skips, len(doc.Results), len(doc.Env.Skipped))
		}
	}
}

// compareJSON wants every figure that v has in JSON in a cell of that name.
func compareJSON(t *testing.T, prefix string, v any, cells map[string]string) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range fields {
		cell, ok := cells[prefix+name]
		switch want := want.(type) {
		case map[string]any:
			compareJSON(t, prefix+name+".", want, cells)
		case []any:
		case json.Number:
			w, _ := want.Float64()
			if got, err := strconv.ParseFloat(cell, 64); err != nil || got != w {
				t.Errorf("%s%s: %q, want %v", prefix, name, cell, want)
			}
		default:
			if !ok || cell != fmt.Sprint(want) {
				t.Errorf("%s%s: %q, want %v", prefix, name, cell, want)
			}
		}
	}
}

// TestRefused: a row whose mode changed between runs is in no format.
func TestRefused(t *testing.T) {
	doc := reporttest.Stream(64)
	doc.Results[0].Mode = "of another kind"
	refused := doc.Results[0].Path
	for name, write := range map[string]func(io.Writer, report.Document) error{"netperf": Netperf, "bench": GoBench} {
		if got := text(t, write, doc); strings.Contains(got, ": "+refused+" :") || strings.Contains(got, "/path="+refused+"/") {
			t.Errorf("%s has %s: %s", name, refused, got)
		}
	}
	if got := text(t, CSV, doc); !strings.Contains(got, "the mode changed between runs") {
		t.Error(got)
	}
}
