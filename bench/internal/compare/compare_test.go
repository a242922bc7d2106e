// SPDX-License-Identifier: MIT

package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/reporttest"
	"github.com/xdpath/xdpath/bench/internal/stats"
)

func documents(t *testing.T, old, now report.Document) Comparison {
	t.Helper()
	c, err := Documents(old, now, Config{Least: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t *testing.T, c Comparison, path, figure string) Change {
	t.Helper()
	for _, ch := range c.Changes {
		if ch.Key.Path == path && strings.HasPrefix(ch.Figure, figure) {
			return ch
		}
	}
	t.Fatalf("no %s of %s", figure, path)
	return Change{}
}

func TestSame(t *testing.T) {
	for _, doc := range []report.Document{reporttest.Stream(64, 1472), reporttest.Trips(64)} {
		c := documents(t, doc, doc)
		if c.Regressed() || len(c.Warnings) > 0 || len(c.Changes) == 0 {
			t.Errorf("%+v", c)
		}
		for _, ch := range c.Changes {
			if ch.Verdict != Same || ch.Change != 0 || ch.P != 1 {
				t.Errorf("%+v", ch)
			}
		}
	}
}

// TestChanged: what one path lost, another won.
func TestChanged(t *testing.T) {
	old := reporttest.Stream(64)
	now := reporttest.Scale(reporttest.Scale(old, "xdp", 0.5), "mmsg", 2)
	c := documents(t, old, now)
	for _, tt := range []struct {
		path, figure string
		want         Verdict
		change       float64
	}{
		{"xdp", "recv", Worse, -50}, {"xdp", "demand", Worse, 100}, {"mmsg", "recv", Better, 100}, {"mmsg", "demand", Better, -50}, {"gso", "recv", Same, 0},
	} {
		ch := find(t, c, tt.path, tt.figure)
		if ch.Verdict != tt.want || ch.Change < tt.change-0.1 || ch.Change > tt.change+0.1 {
			t.Errorf("%s %s: %+v", tt.path, tt.figure, ch)
		}
	}
	if !c.Regressed() {
		t.Error("nothing is worse")
	}
	if c := documents(t, now, now); c.Regressed() {
		t.Error("worse than itself")
	}
	// Shorter round trips are better.
	trips := documents(t, reporttest.Trips(64), reporttest.Scale(reporttest.Trips(64), "xdp", 2))
	if ch := find(t, trips, "xdp", "p50"); ch.Verdict != Better || trips.Regressed() {
		t.Errorf("%+v", ch)
	}
}

// TestNoise: ranges that overlap, or hardly leave a gap, are no change of three runs.
func TestNoise(t *testing.T) {
	old := reporttest.Stream(64)
	for f, want := range map[float64]Verdict{0.995: Same, 0.93: Same, 0.85: Perhaps, 0.7: Worse} {
		c := documents(t, old, reporttest.Scale(old, "xdp", f))
		if ch := find(t, c, "xdp", "recv"); ch.Verdict != want {
			t.Errorf("times %v: %+v, want %s", f, ch, want)
		}
		if c.Regressed() != (want == Worse) {
			t.Errorf("times %v: regressed is %v", f, c.Regressed())
		}
	}
}

func figuresOf(values ...float64) stats.Summary { return stats.Summarize(values) }

// TestJudge: how many runs there are decides what they can tell.
func TestJudge(t *testing.T) {
	five := []float64{1, 2, 3, 4, 5}
	for _, tt := range []struct {
		name string
		a, b []float64
		want Verdict
	}{
		{"one and one, far apart", []float64{1}, []float64{100}, Perhaps},
		{"one and many", []float64{1}, []float64{100, 101, 102}, Perhaps},
		{"two and two, far apart", []float64{1, 1.1}, []float64{2, 2.1}, Perhaps},
		{"one within many", []float64{101}, []float64{100, 101, 102}, Same},
		{"three and three, far apart", []float64{1, 1.1, 1.2}, []float64{2, 2.1, 2.2}, Better},
		{"three and three, apart by less than they are wide", []float64{1, 2, 3}, []float64{4, 5, 6}, Perhaps},
		{"three and three, overlapping", []float64{1, 2, 5}, []float64{4, 5, 6}, Same},
		{"four and four, apart by little", []float64{1, 2, 3, 4}, []float64{4.1, 5, 6, 7}, Better},
		{"five and five, overlapping", five, []float64{2.5, 3.5, 4.5, 5.5, 6.5}, Same},
		{"five and five, one of each out of order", five, []float64{4.5, 6, 7, 8, 9}, Better},
	} {
		c := Change{Old: figuresOf(tt.a...), New: figuresOf(tt.b...), Change: 10, P: stats.PValue(tt.a, tt.b)}
		if got := c.judge(true); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := c.judge(false); tt.want == Better && got != Worse {
			t.Errorf("%s, where less is better: %s", tt.name, got)
		}
	}
}

// TestFalseAlarms counts how often runs of one and the same thing are taken for a
// change: about once in 20 times from four runs on, and less with fewer.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n, most := range map[int]float64{1: 0, 2: 0, 3: 0.04, 4: 0.05, 5: 0.05, 10: 0.06} {
		const draws = 1500
		alarms := 0
		for range draws {
			a, b := make([]float64, n), make([]float64, n)
			for i := range n {
				a[i], b[i] = 100+r.NormFloat64(), 100+r.NormFloat64()
			}
			c := Change{Old: figuresOf(a...), New: figuresOf(b...), Change: 1, P: stats.PValue(a, b)}
			if v := c.judge(true); v == Better || v == Worse {
				alarms++
			}
		}
		if got := float64(alarms) / draws; got > most {
			t.Errorf("%d runs: %.3f are false, at most %.3f", n, got, most)
		}
	}
}

func TestGoneAndNew(t *testing.T) {
	old, now := reporttest.Stream(64), reporttest.Stream(64, 1472)
	c := documents(t, old, now)
	if c.count(New) != 8 || c.Regressed() {
		t.Errorf("%d rows are new", c.count(New))
	}
	back := documents(t, now, old)
	if back.count(Gone) != 8 || !back.Regressed() {
		t.Errorf("%d rows are gone", back.count(Gone))
	}
	// A row that did not run any more says why.
	now = reporttest.Stream(64)
	now.Results = slices.DeleteFunc(now.Results, func(r report.Result) bool { return r.Path == "xdp" })
	now.Env.Skipped = append(now.Env.Skipped, report.Skip{Key: report.Key{Path: "xdp", Size: 64}, Reason: "no rights"})
	if c := documents(t, old, now); !c.Regressed() || c.count(Gone) != 1 {
		t.Errorf("%+v", c)
	} else if text := write(t, c); !strings.Contains(text, "gone: no rights") {
		t.Error(text)
	}
}

func TestEnvironments(t *testing.T) {
	old, now := reporttest.Stream(64), reporttest.Stream(64)
	now.Env.Kernel, now.Env.CPUModel, now.Env.BusyBefore = "6.19.0", "another", 60
	for i := range now.Results {
		if r := &now.Results[i]; r.Path == "xdp" {
			r.Mode, r.MTU, r.Batch = "generic copy", 9000, 1
		}
	}
	c := documents(t, old, now)
	text := write(t, c)
	for _, want := range []string{
		"WARNING: kernel: 6.19.0, was 6.18.0\n", "processor: another, was", "mode of xdp, 64 bytes: generic copy, was native copy",
		"MTU of xdp, 64 bytes: 9000, was 1500", "batch of xdp, 64 bytes: 1, was 64", "60 % busy",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if len(c.Warnings) != 6 {
		t.Errorf("%q", c.Warnings)
	}
}

func TestDifferentTests(t *testing.T) {
	if _, err := Documents(reporttest.Stream(64), reporttest.Trips(64), Config{}); err == nil || !strings.Contains(err.Error(), "stream") {
		t.Error(err)
	}
}

func write(t *testing.T, c Comparison) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	old := reporttest.Stream(64)
	got := write(t, documents(t, old, reporttest.Scale(old, "xdp", 0.5)))
	for _, want := range []string{"recv Mpps", "1.378 (1.281..1.461)", "0.689 (0.641..0.730)", "-50.0 %", "0.100", "worse", "16 figures: 0 better, 2 worse, 0 perhaps.", "take -runs 5"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
