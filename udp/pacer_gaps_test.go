// SPDX-License-Identifier: MIT

package udp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bins follow one another, none wider than 1/32 of what is in it.
func TestGapBins(t *testing.T) {
	for i := range numBins {
		from, to := binFrom(i), binFrom(i+1)
		if from >= to || binOf(from) != i || binOf(to-1) != i || to-from > 1 && (to-from)*subBins > from {
			t.Fatalf("bin %d is from %v to %v; they are of bins %d and %d", i, from, to, binOf(from), binOf(to-1))
		}
	}
	if binOf(-1) != 0 || binOf(math.MaxInt64) != numBins-1 {
		t.Error("what is out of bounds is in no bin at the end")
	}
}

// HdrHistogram, an independent one, has the same quantiles.
func TestGapQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() time.Duration{
		"even":      func() time.Duration { return time.Duration(1 + rng.Int64N(1e6)) },
		"long tail": func() time.Duration { return time.Duration(20_000 * math.Exp(rng.NormFloat64()*2)) },
		"one value": func() time.Duration { return 20 * time.Microsecond },
		"small":     func() time.Duration { return time.Duration(rng.Int64N(40)) },
	} {
		p, err := NewPacer(PacerConfig{Gap: 20 * time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		hdr := hdrhistogram.New(1, int64(time.Hour), 4)
		for range 100_000 {
			gap := draw()
			p.gaps.add(gap)
			if err := hdr.RecordValue(int64(gap)); err != nil {
				t.Fatal(err)
			}
		}
		st := p.Stats()
		for _, c := range []struct {
			name string
			got  time.Duration
			want int64
			off  float64
		}{
			{"median", st.Median, hdr.ValueAtQuantile(50), 0.02}, {"p90", st.P90, hdr.ValueAtQuantile(90), 0.02},
			{"p99", st.P99, hdr.ValueAtQuantile(99), 0.02}, {"p99.9", st.P999, hdr.ValueAtQuantile(99.9), 0.02},
			{"min", st.Min, hdr.Min(), 0.0002}, {"worst", st.Worst, hdr.Max(), 0.0002}, {"mean", st.Mean, int64(hdr.Mean()), 0.0002},
		} {
			if math.Abs(float64(c.got)-float64(c.want)) > 1+c.off*float64(c.want) {
				t.Errorf("%s: %s is %v, by HdrHistogram %v", name, c.name, c.got, time.Duration(c.want))
			}
		}
		var sum uint64
		for _, b := range st.Histogram {
			sum += b.Count
		}
		if sum != st.Count || st.Count != 100_000 {
			t.Errorf("%s: %d gaps in bins, of %d", name, sum, st.Count)
		}
	}
}

// A burst is gaps of less than half the one wanted, in a row.
func TestGapBursts(t *testing.T) {
	g := gaps{wanted: 20}
	for _, gap := range []time.Duration{20, 9, 9, 20, 9, 9, 9, 10, 9} {
		g.add(gap)
	}
	if g.runs != 3 {
		t.Errorf("longest burst %d, want 3", g.runs)
	}
}

func TestPacerStatsPrint(t *testing.T) {
	p, err := NewPacer(PacerConfig{Gap: 20 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Stats().String(); strings.Contains(s, "\n") || !strings.HasPrefix(s, "0 gaps of 20µs") {
		t.Errorf("without gaps: %q", s)
	}
	for range 900 {
		p.gaps.add(20 * time.Microsecond)
	}
	for range 90 {
		p.gaps.add(25 * time.Microsecond)
	}
	p.gaps.add(4 * time.Millisecond)
	p.gaps.add(200 * time.Hour)
	s := p.Stats().String()
	t.Log(s)
	lines := strings.Split(s, "\n")
	bar := func(i int) int { return strings.Count(lines[i], "#") }
	if len(lines) != 5 || bar(1) != histogramBar || bar(2) != 5 || bar(3) != 1 || bar(4) != 1 {
		t.Errorf("%d lines:\n%s", len(lines), s)
	}
	if !strings.Contains(lines[0], "median 20.2") || !strings.Contains(lines[0], "worst 200h") {
		t.Error(lines[0])
	}
	// However wide the spread, it fits on a screen.
	for d := time.Nanosecond; d < 10*time.Hour; d += d/40 + 1 {
		p.gaps.add(d)
	}
	if s := p.Stats().String(); strings.Count(s, "\n") > histogramRows {
		t.Errorf("%d lines:\n%s", strings.Count(s, "\n"), s)
	}
}
