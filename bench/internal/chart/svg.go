// SPDX-License-Identifier: MIT

package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Sizes of a drawing, in its own units. On a telephone one is a little less than a
// pixel, on a desk a little more.
const (
	width = 440.0 // the text in it is 12 high
	// letter is about as wide as a letter of that size is in the widest of the usual
	// fonts; text is not measured here.
	letter = 7.3
)

// A canvas collects the elements of a drawing.
type canvas struct {
	b      strings.Builder
	height float64
}

// num writes a coordinate, to a tenth.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0 // data that is not to be drawn is not drawn wrongly
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x), num(y), num(max(0, w)), num(h))
}

// text has an anchor of start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, num(x), num(y), html.EscapeString(s))
}

func (c *canvas) path(class, d string) {
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`, class, d)
}

// group opens a group with a tooltip; end closes it.
func (c *canvas) group(class, tip string) {
	fmt.Fprintf(&c.b, `<g class="%s"><title>%s</title>`, class, html.EscapeString(tip))
}

func (c *canvas) end() { c.b.WriteString("</g>") }

// svg is the drawing, with a sentence for who cannot see it.
func (c *canvas) svg(label string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">%s</svg>`,
		num(width), num(c.height), html.EscapeString(label), c.b.String()))
}

// Slots is how many series have a colour of their own; then colours come again, with
// other marks.
const Slots = 8

func class(slot int) string { return "s" + strconv.Itoa(slot%Slots) }

// A mark is drawn with its centre at x, y. There are five shapes: with the eight
// colours, 40 pairs.
func (c *canvas) mark(slot int, x, y float64) {
	const r = 3.6
	points := func(p ...float64) {
		d := "M"
		for i := 0; i < len(p); i += 2 {
			d += num(x+p[i]*r) + " " + num(y+p[i+1]*r) + " "
		}
		c.path("mark", d+"Z")
	}
	switch slot % 5 {
	case 0:
		fmt.Fprintf(&c.b, `<circle class="mark" cx="%s" cy="%s" r="%s"/>`, num(x), num(y), num(r))
	case 1:
		points(-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9)
	case 2:
		points(0, -1.2, 1.15, 0.85, -1.15, 0.85)
	case 3:
		points(0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0)
	case 4:
		points(0, 1.2, 1.15, -0.85, -1.15, -0.85)
	}
}
