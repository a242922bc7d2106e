// SPDX-License-Identifier: MIT

package chart

import (
	"math"
	"strconv"
)

// tailTicks are the shares that an axis of percentiles names, if it reaches so far.
var tailTicks = []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999}

// A Tail is an axis of percentiles on which each further nine takes the same room: a
// distribution's tail is what it is drawn for. The largest value of all has a place
// behind the last percentile.
type Tail struct{ reach float64 }

// NewTail makes an axis for percentiles up to most, which is less than 100.
func NewTail(most float64) Tail { return Tail{nines(min(most, tailTicks[len(tailTicks)-1]))} }

// At is where a percentile stands on it. That of 100 is the largest value.
func (t Tail) At(percent float64) float64 {
	if percent >= 100 {
		return t.reach + t.reach/8
	}
	return min(nines(percent), t.reach)
}

// Axis has the ticks.
func (t Tail) Axis(title string) Axis {
	a := Axis{Title: title}
	for _, p := range tailTicks {
		if at := nines(p); at <= t.reach+1e-9 {
			a.Ticks = append(a.Ticks, Tick{at, strconv.FormatFloat(p, 'f', -1, 64)})
		}
	}
	a.Ticks = append(a.Ticks, Tick{t.At(100), "max"})
	return a
}

// nines is how many there are in a share: 1 in 90 %, 2 in 99 %.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }
