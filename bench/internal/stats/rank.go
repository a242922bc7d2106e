// SPDX-License-Identifier: MIT

package stats

import (
	"math"
	"slices"
)

// exactRuns is the most runs, of both sides together, for which the chance is counted
// out. Beyond that its normal approximation is as good.
const exactRuns = 50

// PValue is the chance that two sets of runs of one and the same thing look as
// different as a and b do, or more so: Mann and Whitney's test, two-sided, with ties
// where they are. It is 1 where there is nothing to compare.
func PValue(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	ranks := doubledRanks(a, b)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	if len(ranks) > exactRuns {
		return approximate(ranks, len(a), sum)
	}
	return exact(ranks, len(a), sum)
}

// LeastP is the smallest value that PValue can have for so many runs: what they can
// show at most.
func LeastP(a, b int) float64 {
	if a == 0 || b == 0 {
		return 1
	}
	return min(1, 2*math.Exp(-logChoose(a+b, a)))
}

// doubledRanks are the ranks of a and then of b among all, times two, so that those
// of ties, which share the mean of their ranks, are whole numbers.
func doubledRanks(a, b []float64) []int {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks := make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		end := first
		for end < len(sorted) && sorted[end] == v {
			end++
		}
		ranks[i] = first + end + 1 // the mean of first+1 to end, doubled
	}
	return ranks
}

// exact counts, over all ways to give n of the ranks to one side, those whose sum is
// as far to one end as sum is.
func exact(ranks []int, n, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s] is the number of ways to choose k ranks with the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(n, i+1); k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	below, above, all := 0.0, 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return min(1, 2*min(below, above)/all)
}

// approximate is the chance by the normal distribution, corrected for continuity and
// for ties.
func approximate(ranks []int, n, sum int) float64 {
	all, m := float64(len(ranks)), float64(len(ranks)-n)
	u := float64(sum)/2 - float64(n)*float64(n+1)/2
	counts := map[int]float64{}
	for _, r := range ranks {
		counts[r]++
	}
	ties := 0.0
	for _, c := range counts {
		ties += c*c*c - c
	}
	variance := float64(n) * m / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1
	}
	z := max(0, math.Abs(u-float64(n)*m/2)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
