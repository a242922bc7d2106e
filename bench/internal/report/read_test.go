// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encode(t testing.TB, doc Document) []byte {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRead reads what was written, and gets the same.
func TestRead(t *testing.T) {
	want := Settle(document())
	got, err := Read(bytes.NewReader(encode(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadOld reads what a bench wrote that had no list of rows, no parameters and no
// summary.
func TestReadOld(t *testing.T) {
	const old = `{"env":{"kernel":"6.1","skipped":[{"path":"asavie","size":64,"run":1,"reason":"no"}],"later":1},"results":[
		{"test":"stream","path":"xdp","mode":"native copy","size":64,"mtu":1500,"run":1,"rx_pps":5,"tx_pps":5,"sent":5,"received":5,"seconds":1},
		{"test":"stream","path":"mmsg","mode":"-","size":64,"mtu":1500,"run":1,"rx_pps":4,"tx_pps":5,"sent":5,"received":4,"lost":1,"seconds":1}]}`
	doc, err := Read(strings.NewReader(old))
	if err != nil {
		t.Fatal(err)
	}
	want := []Key{{Path: "xdp", Size: 64}, {Path: "mmsg", Size: 64}, {Path: "asavie", Size: 64}}
	if diff := cmp.Diff(want, doc.Env.Rows); diff != "" || len(doc.Summary) != 2 {
		t.Error(diff, doc.Summary)
	}
}

func TestReadRefuses(t *testing.T) {
	change := func(f func(*Document)) string {
		doc := document()
		f(&doc)
		return string(encode(t, doc))
	}
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":         {"", "no results of a bench"},
		"no JSON":         {"goos: linux", "no results of a bench"},
		"another's JSON":  {`{"end":{"sum":1}}`, "neither results nor env.skipped"},
		"a list":          {"[]", "no results of a bench"},
		"half a file":     {string(encode(t, document()))[:500], "unexpected end"},
		"words for rates": {`{"results":[{"rx_pps":"many"}]}`, "rx_pps"},
		"no path":         {change(func(d *Document) { d.Results[1].Path = "" }), "results[1]: path of 0 bytes"},
		"a long path":     {change(func(d *Document) { d.Results[1].Path = strings.Repeat("x", 1000) }), "path of 1000 bytes"},
		"a negative rate": {change(func(d *Document) { d.Results[2].RXPPS = -1 }), "results[2]: rx_pps -1"},
		"a huge rate":     {change(func(d *Document) { d.Results[2].RXPPS = 1e300 }), "rx_pps 1e+300"},
		"no time":         {change(func(d *Document) { d.Results[0].Seconds = 0 }), "seconds 0"},
		"busier than all": {change(func(d *Document) { d.Results[0].CPUUtil = 101 }), "cpu_util_pct 101"},
		"unbalanced":      {change(func(d *Document) { d.Results[0].Lost++ }), "sent "},
		"received of none": {change(func(d *Document) {
			d.Results[0].Received = d.Results[0].Sent + 1
		}), "received"},
		"two tests":         {change(func(d *Document) { d.Results[3].Test = "rr" }), `test "rr" in a file of "stream"`},
		"a latency below 0": {change(func(d *Document) { d.Results[0].Latency = &Latency{P50: -3} }), "latency -3"},
		"101 percent": {change(func(d *Document) {
			d.Results[0].Latency = &Latency{Percentiles: []Percentile{{101, 5}}}
		}), "percent of a latency 101"},
	} {
		if doc, err := Read(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q; %d results", name, err, tt.want, len(doc.Results))
		}
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadEndless(t *testing.T) {
	if _, err := Read(endless{}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	var broken io.Reader = io.MultiReader(strings.NewReader("{"), brokenReader{})
	if _, err := Read(broken); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzRead: whatever a file has, it is read or refused, and what is read can be
// written, read again, and made a table of.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, Settle(document())))
	f.Add([]byte(`{"results":[{"test":"rr","path":"x","seconds":1,"latency_us":{"percentiles":[{"percent":50,"us":1}]}}]}`))
	f.Add([]byte(`{"env":{"rows":[{"path":"a"},{"path":"a"}],"skipped":[{"path":"b","reason":"r"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(encode(t, doc)))
		if err != nil || len(again.Results) != len(doc.Results) || len(again.Env.Rows) != len(doc.Env.Rows) {
			t.Fatalf("%v: %d results were %d, %d rows were %d", err, len(again.Results), len(doc.Results), len(again.Env.Rows), len(doc.Env.Rows))
		}
		NewGrid(nil, Rows(doc))
	})
}
