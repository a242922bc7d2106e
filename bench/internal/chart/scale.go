// SPDX-License-Identifier: MIT

package chart

import (
	"math"
	"strconv"
)

// A Tick is a place on an axis and what stands there.
type Tick struct {
	At   float64
	Text string
}

// An Axis is one direction of a drawing.
type Axis struct {
	Title string
	Log   bool
	Ticks []Tick // nil: chosen to fit
}

// A scale carries values to places.
type scale struct {
	log      bool
	min, max float64 // values, logarithms of them on a log scale
	from, to float64 // places of the two
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, math.SmallestNonzeroFloat64))
	}
	return s.from + (v-s.min)/(s.max-s.min)*(s.to-s.from)
}

// fit makes a scale for values from least to most and the ticks on it: from zero to
// a round number or, on a log scale, between two of 1, 2 and 5 times a power of ten.
func (a Axis) fit(least, most, from, to float64) (scale, []Tick) {
	s := scale{log: a.Log, from: from, to: to}
	var ticks []Tick
	if a.Log {
		ticks = logTicks(least, most)
		s.min, s.max = math.Log10(ticks[0].At), math.Log10(ticks[len(ticks)-1].At)
		ticks = thin(ticks)
	} else {
		ticks = linearTicks(most)
		s.max = ticks[len(ticks)-1].At
	}
	if a.Ticks != nil {
		ticks = a.Ticks
	}
	return s, ticks
}

// span makes a scale just as wide as the values, for a horizontal axis.
func (a Axis) span(least, most, from, to float64) scale {
	s := scale{log: a.Log, min: least, max: most, from: from, to: to}
	if a.Log {
		s.min, s.max = math.Log10(least), math.Log10(most)
	}
	if s.max <= s.min { // a single value stands in the middle
		s.min, s.max = s.min-1, s.min+1
	}
	return s
}

// linearTicks are four to seven round numbers from 0 to at least most.
func linearTicks(most float64) []Tick {
	if !(most > 0) || math.IsInf(most, 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, f := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if most/(step*f) <= 6 {
			step *= f
			break
		}
	}
	var ticks []Tick
	for i := 0; ; i++ {
		v := float64(i) * step
		ticks = append(ticks, Tick{v, Number(v)})
		if v >= most*(1-1e-9) {
			return ticks
		}
	}
}

// logTicks are 1, 2 and 5 times the powers of ten, from at most least to at least
// most, two at the least.
func logTicks(least, most float64) []Tick {
	if !(least > 0) || math.IsInf(least, 0) {
		least = 1
	}
	if !(most > least) || math.IsInf(most, 0) {
		most = least
	}
	var ticks []Tick
	for e := math.Floor(math.Log10(least)); ; e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			switch {
			case v <= least*(1+1e-9):
				ticks = []Tick{{v, Number(v)}}
			default:
				ticks = append(ticks, Tick{v, Number(v)})
			}
			if v >= most*(1-1e-9) && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// thin takes the fives and twos away where there are many, but for the ends.
func thin(ticks []Tick) []Tick {
	if len(ticks) <= 7 {
		return ticks
	}
	var out []Tick
	for i, t := range ticks {
		e := math.Log10(t.At)
		end := (i == 0 || i == len(ticks)-1) && len(ticks) <= 15
		if end || math.Abs(e-math.Round(e)) < 1e-9 {
			out = append(out, t)
		}
	}
	return out
}

// Number writes a number as short as it can be told on an axis.
func Number(v float64) string {
	abs := math.Abs(v)
	switch {
	case abs >= 1e9:
		return short(v/1e9) + "G"
	case abs >= 1e6:
		return short(v/1e6) + "M"
	case abs >= 1e4:
		return short(v/1e3) + "k"
	default:
		return short(v)
	}
}

// short writes four digits at most, and no zeros behind a point.
func short(v float64) string { return strconv.FormatFloat(round4(v), 'f', -1, 64) }

func round4(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	f := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*f) / f
}
