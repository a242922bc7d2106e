// SPDX-License-Identifier: MIT

package rr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestLatencyOracle compares with what sorting all the times gives: they agree to
// three digits.
func TestLatencyOracle(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newRecorder()
		var all []time.Duration
		for range 1 + rng.IntN(20_000) {
			// From 1 µs to 50 ms, as many in each decade, and some far off.
			d := time.Duration(1000 * math.Exp(rng.Float64()*math.Log(50_000)))
			all = append(all, d)
			r.add(d)
		}
		slices.Sort(all)
		// rank is the place of a percentile in the order, to the nearest.
		rank := func(percent float64) time.Duration {
			i := int(percent/100*float64(len(all))+0.5) - 1
			return all[min(max(i, 0), len(all)-1)]
		}
		l := r.latency()
		if l.Count != uint64(len(all)) {
			t.Fatalf("%d times, %d were noted", l.Count, len(all))
		}
		for _, c := range []struct {
			name      string
			got, want time.Duration
		}{
			{"p50", l.P50, rank(50)}, {"p90", l.P90, rank(90)}, {"p99", l.P99, rank(99)}, {"p99.9", l.P999, rank(99.9)}, {"max", l.Max, all[len(all)-1]},
		} {
			// The upper end of the step that the time is in.
			if c.got < c.want || float64(c.got) > 1.001*float64(c.want) {
				t.Errorf("seed %d, %d times: %s is %v, want %v", seed, len(all), c.name, c.got, c.want)
			}
		}
	}
}

// TestLatencySmall: of few round trips, and of none.
func TestLatencySmall(t *testing.T) {
	r := newRecorder()
	if got := r.latency(); !reflect.DeepEqual(got, Latency{}) {
		t.Errorf("of nothing: %+v", got)
	}
	r.add(7 * time.Microsecond)
	if got := r.latency(); got.Count != 1 || got.P50 != got.Max || got.P999 != got.Max || got.Max/time.Microsecond != 7 {
		t.Errorf("of one: %+v", got)
	}
	r.add(100 * time.Microsecond)
	r.add(200 * time.Microsecond)
	if got := r.latency(); got.P50/time.Microsecond != 100 || got.P99/time.Microsecond != 200 {
		t.Errorf("of three: %+v", got)
	}
}

// TestLatencySteps: a microsecond has its three digits.
func TestLatencySteps(t *testing.T) {
	for _, d := range []time.Duration{1000, 1001, 1999, 3555, 12_340, 123_400, time.Second} {
		r := newRecorder()
		r.add(d)
		if got := r.latency().P50; got < d || float64(got) > 1.001*float64(d) {
			t.Errorf("%d ns was noted as %d", d, got)
		}
	}
}

// TestLatencyPercentiles: they rise, agree with those that have names, and go no
// further into the tail than there are round trips.
func TestLatencyPercentiles(t *testing.T) {
	for n, last := range map[int]float64{1: 0, 2: 50, 9: 75, 10: 90, 999: 99.5, 1000: 99.9, 9999: 99.95, 10_000: 99.99, 100_000: 99.999} {
		r := newRecorder()
		for i := range n {
			r.add(time.Duration(1000 + i))
		}
		l := r.latency()
		ps := l.Percentiles
		if got := ps[len(ps)-2].Percent; got != last {
			t.Errorf("of %d: the last is %v, want %v", n, got, last)
		}
		if ps[0].Time < 1000 || float64(ps[0].Time) > 1001 || ps[len(ps)-1] != (Percentile{100, l.Max}) {
			t.Errorf("of %d: %v to %v", n, ps[0], ps[len(ps)-1])
		}
		named := map[float64]time.Duration{50: l.P50, 90: l.P90, 99: l.P99, 99.9: l.P999}
		for i, p := range ps {
			if want, ok := named[p.Percent]; ok && p.Time != want {
				t.Errorf("of %d: %v, want %v", n, p, want)
			}
			if i > 0 && (p.Percent <= ps[i-1].Percent || p.Time < ps[i-1].Time) {
				t.Errorf("of %d: %v after %v", n, p, ps[i-1])
			}
		}
	}
}

func TestLatencyBounds(t *testing.T) {
	r := newRecorder()
	for _, d := range []time.Duration{math.MinInt64, -1, 0, time.Minute, math.MaxInt64} {
		r.add(d)
	}
	if got := r.latency(); got.Count != 5 || got.P50 > 1 || got.Max < 10*time.Second || got.Max > 10100*time.Millisecond {
		t.Errorf("%+v", got)
	}
}

func TestRecorderAllocations(t *testing.T) {
	r := newRecorder()
	if n := testing.AllocsPerRun(1000, func() { r.add(5 * time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations a round trip", n)
	}
}
