// SPDX-License-Identifier: MIT

package chart

import (
	"html/template"
	"math"
)

// A Bar is one of a chart of bars.
type Bar struct {
	Name      string
	Slot      int
	Value     float64
	Low, High float64 // its whisker, if they differ
	Beyond    float64 // up to which a paler bar goes on, if more than Value
	Text      string  // beside it
	Tip       string
	Missing   string // in place of the bar, where there is nothing to show
}

// Bars is a chart of bars that lie, from zero.
type Bars struct {
	Label string // a sentence for who cannot see it
	Axis  Axis   // never logarithmic: the length of a bar would mean nothing
	Bars  []Bar
}

const (
	barHeight = 16.0
	barPitch  = 25.0
)

// SVG draws it.
func (b Bars) SVG() template.HTML {
	c := canvas{}
	names, texts, most := 0, 0, 0.0
	for _, bar := range b.Bars {
		names, texts = max(names, len(bar.Name)), max(texts, len([]rune(bar.Text)))
		for _, v := range []float64{bar.Value, bar.High, bar.Beyond} {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				most = max(most, v)
			}
		}
	}
	left := letter*float64(names+1) + 8
	right := width - letter*float64(texts+1) - 8
	end := 4 + barPitch*float64(len(b.Bars))
	c.height = end + roomBottom
	b.Axis.Log = false
	x, ticks := b.Axis.fit(0, most, left, right)
	for _, t := range ticks {
		at := x.at(t.At)
		c.line("grid", at, 4, at, end)
		c.text("tick", "middle", at, end+16, t.Text)
	}
	c.text("axis", "middle", (left+right)/2, c.height-5, b.Axis.Title)
	for i, bar := range b.Bars {
		c.bar(bar, x, left, 4+barPitch*(float64(i)+0.5))
	}
	c.line("base", left, 4, left, end)
	return c.svg(b.Label)
}

// bar draws one with its middle at y.
func (c *canvas) bar(b Bar, x scale, left, y float64) {
	c.text("label", "end", left-7, y+4, b.Name)
	if b.Missing != "" {
		c.group("missing", b.Missing)
		c.text("note", "start", left+6, y+4, "not run")
		c.end()
		return
	}
	c.group(class(b.Slot), b.Tip)
	top, tip := y-barHeight/2, x.at(b.Value)
	if b.Beyond > b.Value {
		c.rect("beyond", tip, top, x.at(b.Beyond)-tip, barHeight)
	}
	c.rect("bar", left, top, tip-left, barHeight)
	if b.High > b.Low {
		low, high := x.at(b.Low), x.at(b.High)
		d := "M" + num(low) + " " + num(y) + "H" + num(high) + "M" + num(low) + " " + num(y-4) + "v8M" + num(high) + " " + num(y-4) + "v8"
		c.path("halo", d) // so that it is seen on every bar
		c.path("ink", d)
	}
	c.end()
	// In a column of its own: at the end of a long whisker it would pass for its value.
	c.text("value", "end", width-2, y+4, b.Text)
}
