// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func result(path, mode string, size, run int, rx float64) report.Result {
	sent := uint64(rx * 1.1)
	received := uint64(rx)
	return report.Result{
		Test: "stream", Path: path, Mode: mode, Size: size, MTU: 1500, Batch: 64, Run: run,
		TXPPS: float64(sent), RXPPS: rx, GoodputBPS: rx * float64(size) * 8, Seconds: 1,
		Sent: sent, Received: received, Lost: sent - received, Loss: loss.Split{loss.Socket: sent - received},
		CPUUtil: 99.6, ServiceDemand: 12.3456,
	}
}

// document is a bench of every kind of row.
func document() report.Document {
	var doc report.Document
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
	doc.Env.Skipped = []report.Skip{
		{Key: report.Key{Path: "asavie", Size: 64}, Run: 1, Reason: "receiver: open asavie socket on xp1b queue 0: syscall.Bind SockaddrXDP failed: " +
			"operation not permitted, and a good deal more that needs a second line to be told in full"},
		{Key: report.Key{Path: "xdp", Size: 64}, Run: 3, Reason: "one of three runs failed"},
	}
	doc.Env.Rows = rows([]string{"socket", "mmsg", "gso", "asavie", "packet", "xdp"}, 64, 1472)
	return doc
}

// rows are those of some paths at some sizes.
func rows(paths []string, sizes ...int) []report.Key {
	return Plan{Rows: Common{Paths: paths, Sizes: sizes, MTUs: []int{1500}}.Product()}.Keys()
}

// golden compares got with a file, or writes that anew.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	fits(t, string(got))
}

// fits checks that no line is too wide.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > report.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestStreamTable(t *testing.T) {
	doc := document()
	var got bytes.Buffer
	notes := []string{"A short note.", strings.Repeat("A long note that is wrapped. ", 8)}
	if err := report.WriteTable(&got, streamColumns(), report.Rows(doc), notes); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/stream.txt", got.Bytes())
}

// TestTableWidest fills every column with the widest text to be expected.
func TestStreamTableWidest(t *testing.T) {
	r := result("socket", "native zero-copy", 65507, 1, 98_765_432)
	r.GoodputBPS = 98.76e9
	r.Loss = loss.Split{loss.FillRing: 2, loss.RXRing: 1}
	r.ServiceDemand = 1234.5678
	r.Sent, r.Lost = 100, 100
	doc := report.Document{Results: []report.Result{r}}
	doc.Env.Rows = rows([]string{r.Path}, r.Size)
	var got bytes.Buffer
	if err := report.WriteTable(&got, streamColumns(), report.Rows(doc), nil); err != nil {
		t.Fatal(err)
	}
	fits(t, got.String())
}
