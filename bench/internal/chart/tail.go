// SPDX-License-Identifier: MIT

package chart

import (
	"math"
	"slices"
	"strconv"
)

// tailTicks are the shares that an axis of percentiles names, if it reaches so far.
var tailTicks = []float64{0, 50, 90, 99, 99.9, 99.99, 99.999}

// A Tail is an axis of percentiles on which each further nine takes the same room: a
// distribution's tail is what it is drawn for. The largest value of all has a place
// behind the last percentile.
type Tail struct{ reach float64 }

// NewTail makes an axis for percentiles up to most, which is less than 100.
func NewTail(most float64) Tail { return Tail{nines(min(most, tailTicks[len(tailTicks)-1]))} }

// At is where a percentile stands on it. That of 100 is the largest value.
func (t Tail) At(percent float64) float64 {
	if percent >= 100 {
		return t.reach + t.reach/5
	}
	return min(nines(percent), t.reach)
}

// Named tells whether the axis has a tick for a percentile.
func (t Tail) Named(percent float64) bool {
	return percent >= 100 || slices.Contains(tailTicks, percent)
}

// Axis has the ticks.
func (t Tail) Axis(title string) Axis {
	a := Axis{Title: title}
	for _, p := range tailTicks {
		if at := nines(p); at <= t.reach+1e-9 {
			text := strconv.FormatFloat(p, 'f', -1, 64)
			if p == 0 {
				text = "" // the median beside it matters more
			}
			a.Ticks = append(a.Ticks, Tick{at, text})
		}
	}
	a.Ticks = append(a.Ticks, Tick{t.At(100), "max"})
	return a
}

// nines is how many there are in a share: 1 in 90 %, 2 in 99 %.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }
