// SPDX-License-Identifier: MIT

package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

func TestSummarize(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"none", nil, Summary{}},
		{"one says nothing about others", []float64{7}, Summary{1, 7, 7, 7, 7, 7, 0}},
		{"two", []float64{9, 7}, Summary{2, 7, 7, 9, 7, 9, 0.5}},
		{"three: the range", []float64{3, 1, 2}, Summary{3, 2, 1, 3, 1, 3, 0.75}},
		{"five: the range", []float64{5, 4, 3, 2, 1}, Summary{5, 3, 1, 5, 1, 5, 1 - 2./32}},
		{"six: the range suffices", []float64{1, 2, 3, 4, 5, 6}, Summary{6, 3, 1, 6, 1, 6, 1 - 2./64}},
		{"nine: one out at each end", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, Summary{9, 5, 1, 9, 2, 8, 1 - 20./512}},
		{"alike", []float64{4, 4, 4}, Summary{3, 4, 4, 4, 4, 4, 0.75}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Summarize(tt.values), cmp.Comparer(near)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestCovers counts the tosses of n coins of which at least k+1 show each side.
func TestCovers(t *testing.T) {
	for n := 2; n <= 16; n++ {
		for k := 0; 2*k < n; k++ {
			hit := 0
			for tosses := range uint32(1) << n {
				if heads := bits.OnesCount32(tosses); heads > k && n-heads > k {
					hit++
				}
			}
			if got, want := covers(n, k), float64(hit)/float64(uint32(1)<<n); !near(got, want) {
				t.Errorf("%d of %d out: %v, want %v", k, n, got, want)
			}
		}
	}
	if c := covers(1000, 0); c < 0.999 || c > 1 {
		t.Errorf("a range of 1,000 runs: %v", c)
	}
}

// TestCoverage draws runs from a skewed distribution with a known median: the
// interval covers it as often as it says.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 6, 10, 25} {
		const draws = 20_000
		hits, claim := 0, 0.0
		for range draws {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.ExpFloat64()
			}
			s := Summarize(values)
			if s.Low <= math.Ln2 && math.Ln2 <= s.High {
				hits++
			}
			claim = s.Confidence
		}
		if got := float64(hits) / draws; math.Abs(got-claim) > 0.012 {
			t.Errorf("%d runs: covers %.3f, says %.3f", n, got, claim)
		}
	}
}

// TestPValueCounted compares with a count over all ways to divide the runs.
func TestPValueCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		a, b := make([]float64, 1+r.IntN(5)), make([]float64, 1+r.IntN(5))
		for _, v := range [][]float64{a, b} {
			for i := range v {
				v[i] = float64(r.IntN(2 + r.IntN(12))) // with ties
			}
		}
		if got, want := PValue(a, b), counted(a, b); !near(got, want) {
			t.Fatalf("%v and %v: %v, counted %v", a, b, got, want)
		}
	}
}

// pairs is Mann and Whitney's statistic: the pairs in which a is larger.
func pairs(a, b []float64) (u float64) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	return u
}

func counted(a, b []float64) float64 {
	all := append(append([]float64{}, a...), b...)
	seen, below, above, ways := pairs(a, b), 0., 0., 0.
	for set := range uint(1) << len(all) {
		if bits.OnesCount(set) != len(a) {
			continue
		}
		var x, y []float64
		for i, v := range all {
			if set>>i&1 == 1 {
				x = append(x, v)
			} else {
				y = append(y, v)
			}
		}
		ways++
		if u := pairs(x, y); u <= seen {
			below++
			if u == seen {
				above++
			}
		} else {
			above++
		}
	}
	return min(1, 2*min(below, above)/ways)
}

func TestPValue(t *testing.T) {
	up := func(n int, from float64) (v []float64) {
		for i := range n {
			v = append(v, from+float64(i))
		}
		return v
	}
	tests := []struct {
		name string
		a, b []float64
		want float64
	}{
		{"nothing", nil, up(3, 0), 1},
		{"three and three, apart", up(3, 0), up(3, 10), 0.1},
		{"four and four, apart", up(4, 0), up(4, 10), 2. / 70},
		{"five and five, apart", up(5, 10), up(5, 0), 2. / 252},
		{"alike", []float64{1, 1, 1}, []float64{1, 1}, 1},
	}
	for _, tt := range tests {
		if got := PValue(tt.a, tt.b); !near(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for n := 1; n < 8; n++ {
		if got, want := LeastP(n, n), PValue(up(n, 0), up(n, 100)); !near(got, want) {
			t.Errorf("least of %d and %d: %v, seen %v", n, n, got, want)
		}
	}
}

// TestPValueApproximate: where the count ends, the approximation goes on from it.
func TestPValueApproximate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		a, b := make([]float64, 25), make([]float64, 25)
		for i := range a {
			a[i], b[i] = math.Floor(40*r.Float64()), math.Floor(40*r.Float64()+8*r.Float64())
		}
		ranks := doubledRanks(a, b)
		sum := 0
		for _, v := range ranks[:len(a)] {
			sum += v
		}
		if e, p := exact(ranks, len(a), sum), approximate(ranks, len(a), sum); math.Abs(e-p) > 0.01 {
			t.Errorf("counted %v, approximated %v", e, p)
		}
	}
	same := make([]float64, 100)
	if p := PValue(same, same); p != 1 {
		t.Errorf("100 and 100 alike: %v", p)
	}
}
