// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// planned parses the flags that a test alone has and makes its rows.
func planned(t *testing.T, test Test, c Common, args string) (Plan, error) {
	t.Helper()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	rows := test.Rows(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		return Plan{}, err
	}
	p := Plan{Test: test, Duration: time.Second, Runs: 3}
	return p, rows(&p, c)
}

var common = Common{Paths: []string{"mmsg", "xdp"}, Sizes: []int{64}, MTUs: []int{1500}, Batch: 64}

// keys are the rows in short.
func keysOf(p Plan) (all []string) {
	for _, r := range p.Rows {
		all = append(all, r.Path+" "+r.Param)
	}
	return all
}

func TestSweepRows(t *testing.T) {
	quick := common
	quick.Quick = true
	for _, tt := range []struct {
		test Test
		c    Common
		args string
		want string
	}{
		{batchTest(), common, "-batches 1,8", "mmsg batch=1,xdp batch=1,mmsg batch=8,xdp batch=8"},
		{batchTest(), quick, "", "mmsg batch=1,xdp batch=1,mmsg batch=64,xdp batch=64"},
		{ringsTest(), quick, "-vary rx,ring", "mmsg rx=64,xdp rx=64,mmsg rx=4096,xdp rx=4096,mmsg ring=64,xdp ring=64,mmsg ring=4096,xdp ring=4096"},
		{coalesceTest(), quick, "", "mmsg frames=1,xdp frames=1,mmsg frames=16,xdp frames=16,mmsg delay=0s,xdp delay=0s,mmsg delay=100µs,xdp delay=100µs"},
	} {
		p, err := planned(t, tt.test, tt.c, tt.args)
		if got := strings.Join(keysOf(p), ","); err != nil || got != tt.want {
			t.Errorf("%s %s: %s, %v", tt.test.Name, tt.args, got, err)
		}
	}
}

// TestSweepSettings: what a row is called is what it is set to.
func TestSweepSettings(t *testing.T) {
	p, err := planned(t, coalesceTest(), common, "-frames 16 -delays 50 -delay 2ms -count 8")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Rows[1], p.Rows[3]; a.Frames != 16 || a.Delay != 2*time.Millisecond || b.Frames != 8 || b.Delay != 50*time.Microsecond {
		t.Errorf("%+v, %+v", a, b)
	}
	if p, err = planned(t, batchTest(), common, "-batches 7"); err != nil || p.Rows[0].Batch != 7 {
		t.Errorf("%+v, %v", p.Rows, err)
	}
	for knob, get := range map[string]func(control.Row) int{
		"ring": func(r control.Row) int { return r.Ring }, "rx": func(r control.Row) int { return r.RX },
		"tx": func(r control.Row) int { return r.TX }, "fill": func(r control.Row) int { return r.Fill },
	} {
		p, err := planned(t, ringsTest(), common, "-rings 128 -vary "+knob)
		if err != nil || get(p.Rows[0]) != 128 || p.Rows[0].Ring+p.Rows[0].RX+p.Rows[0].TX+p.Rows[0].Fill != 128 {
			t.Errorf("%s: %+v, %v", knob, p.Rows, err)
		}
	}
}

func TestSweepErrors(t *testing.T) {
	two := common
	two.MTUs = []int{1500, 9000}
	for _, tt := range []struct {
		test Test
		c    Common
		args string
		want string
	}{
		{batchTest(), common, "-batches 0", `"0" must be a number from 1 to 1024`},
		{batchTest(), common, "-batches 1,2,1", "1 stands there twice"},
		{batchTest(), two, "", "at one MTU"},
		{ringsTest(), common, "-rings 100", "100 is no power of two"},
		{ringsTest(), common, "-vary sail", `no "sail", there are ring, rx, tx, fill`},
		{ringsTest(), two, "", "at one MTU"},
		{coalesceTest(), common, "-delay 0s", "-delay 0s: must be above 0"},
		{coalesceTest(), common, "-count 0 -frames many", "-count 0"},
		{coalesceTest(), two, "", "at one MTU"},
	} {
		if _, err := planned(t, tt.test, tt.c, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: error %v, want %q in it", tt.test.Name, tt.args, err, tt.want)
		}
	}
}

// sweepDocument has each row of a plan rise by a tenth, with one that did not run.
func sweepDocument(p Plan) report.Document {
	var doc report.Document
	doc.Env.Rows = p.Keys()
	for i, r := range p.Rows {
		if i == 2 {
			doc.Env.Skipped = append(doc.Env.Skipped, report.Skip{Key: Key(r), Run: 1, Reason: "no such luck"})
			continue
		}
		m := result(r.Path, "-", r.Size, 1, 500_000*(1+float64(i)/10))
		m.Param, m.Test, m.TXSeconds = r.Param, p.Test.Name, 1
		if p.Test.Latency != "" {
			m.Latency = &report.Latency{P50: 4 + 20*float64(i), P99: 40 + 20*float64(i)}
		}
		doc.Results = append(doc.Results, m)
	}
	return doc
}

// TestSweepTables compares each row with the first of its path and setting.
func TestSweepTables(t *testing.T) {
	for name, args := range map[string]string{"batch": "-batches 1,8,256", "coalesce": "-frames 1,16,256 -delays 0,500"} {
		test, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planned(t, test, common, args)
		if err != nil {
			t.Fatal(err)
		}
		doc := sweepDocument(p)
		doc.Env.Link = "veth pair"
		var got bytes.Buffer
		notes := test.Notes(p, doc)
		if err := report.WriteTable(&got, test.Columns(), report.Rows(doc), notes[:1]); err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/"+name+".txt", got.Bytes())
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "soft interrupts") }) {
			t.Errorf("notes %q", notes)
		}
	}
}

// TestSweepTablesWidest fills every column with the widest text to be expected.
func TestSweepTablesWidest(t *testing.T) {
	for _, test := range []Test{batchTest(), ringsTest(), coalesceTest(), rateTest()} {
		name, param := "xdp-packetconn", "batch=1024"
		if test.Latency != "" {
			name, param = "xdp", "delay=999.5ms"
		}
		r := result(name, "native zero-copy", 47104, 1, 9_876_543)
		r.Param, r.Loss = param, loss.Split{loss.FillRing: 2, loss.RXRing: 1}
		r.ServiceDemand, r.Sent, r.Lost = 1234.5678, 100, 100
		if r.Offered = 9_876_543; test.Name == "rate" {
			r.Param = "rate=9876543"
		}
		r.Latency = &report.Latency{P50: 99_999, P99: 999_999}
		doc := report.Document{Results: []report.Result{r}}
		doc.Env.Rows = []report.Key{r.Key()}
		var got bytes.Buffer
		if err := report.WriteTable(&got, test.Columns(), report.Rows(doc), nil); err != nil {
			t.Fatal(err)
		}
		fits(t, got.String())
	}
}
