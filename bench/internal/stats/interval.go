// SPDX-License-Identifier: MIT

package stats

import (
	"math"
	"slices"
)

// Confidence is what an interval of enough runs has: that it covers the median of
// all runs that might have been.
const Confidence = 0.95

// A Summary is what several runs of one thing say about one figure. The interval
// from Low to High covers the median of the distribution that the runs are from with
// the probability Confidence, which is 0 for a single run: that says nothing about
// others.
type Summary struct {
	Runs       int     `json:"-"` // known, as the confidence is, to whoever holds several summaries of the same runs
	Median     float64 `json:"median"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Low        float64 `json:"ci_low"`
	High       float64 `json:"ci_high"`
	Confidence float64 `json:"-"`
}

// Summarize sums up the figures of runs, in any order; of none it is zero.
//
// The interval is of order statistics: k runs are left out at each end, as many as
// leave a confidence of 95 % or more. Five runs or fewer cannot give that: their
// interval is their range, and has the confidence that a range of so many runs has,
// 75 % for three. The median is the lower one of two: a figure that some run had.
func Summarize(values []float64) Summary {
	n := len(values)
	if n == 0 {
		return Summary{}
	}
	v := slices.Sorted(slices.Values(values))
	k := 0
	for 2*(k+1) < n && covers(n, k+1) >= Confidence {
		k++
	}
	return Summary{
		Runs: n, Median: v[(n-1)/2], Min: v[0], Max: v[n-1],
		Low: v[k], High: v[n-1-k], Confidence: covers(n, k),
	}
}

// covers is the probability that a distribution's median lies between the runs left
// when the k least and the k largest of n are out. Each run is above the median with
// the chance of a coin: the interval misses when at most k of them are on one side.
func covers(n, k int) float64 {
	if n < 2 {
		return 0
	}
	miss := 0.0
	for i := range k + 1 {
		miss += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return max(0, 1-2*miss)
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	g := func(v int) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	return g(n) - g(k) - g(n-k)
}
