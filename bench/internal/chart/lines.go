// SPDX-License-Identifier: MIT

package chart

import (
	"cmp"
	"html/template"
	"math"
	"slices"
)

// A Point is one mark. From Low to High goes its whisker, if they differ.
type Point struct {
	X, Y      float64
	Low, High float64
	Tip       string
	Bare      bool // no mark: the line only passes there
}

// A Series is one line, in the order of X.
type Series struct {
	Name   string
	Slot   int
	Points []Point
}

// Lines is a chart of lines. Values that its axes cannot show are left out: below
// zero, or not above it on a log scale, or not finite.
type Lines struct {
	Label  string // a sentence for who cannot see it
	X, Y   Axis
	Series []Series
	// Bridge has lines go on over places where they have no value and others have
	// one. Otherwise they break there.
	Bridge bool
}

// Room around the plot of a line chart.
const (
	linesHeight = 290.0
	roomLeft    = 46.0
	roomTop     = 26.0
	roomBottom  = 40.0
	labelGap    = 14.0 // between two names at the ends of lines
	leader      = 18.0 // from the plot to the names and the marks before them
	legendMark  = 9.0  // room of such a mark
)

// A plot is a line chart that is being drawn.
type plot struct {
	canvas
	x, y       scale
	xs         []float64 // all values of X there are
	right      float64
	xt, yt     []Tick
	lines      Lines
	begin, end float64 // of the plot, from top to bottom
}

// SVG draws it.
func (l Lines) SVG() template.HTML {
	l.Series = l.drawable()
	p := plot{lines: l, begin: roomTop, end: linesHeight - roomBottom}
	p.height = linesHeight
	names := 0
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		names = max(names, len(s.Name))
		for _, pt := range s.Points {
			p.xs = append(p.xs, pt.X)
			least, most = min(least, pt.Low), max(most, pt.High)
		}
	}
	if len(p.xs) == 0 {
		p.text("note", "middle", width/2, linesHeight/2, "nothing to show")
		return p.svg(l.Label)
	}
	slices.Sort(p.xs)
	p.xs = slices.Compact(p.xs)
	p.right = width - leader - legendMark - letter*float64(names+1)
	p.y, p.yt = l.Y.fit(least, most, p.end, p.begin)
	p.x, p.xt = l.X.span(p.xs[0], p.xs[len(p.xs)-1], roomLeft+10, p.right-6), l.X.Ticks
	if p.xt == nil {
		for _, x := range p.xs {
			p.xt = append(p.xt, Tick{x, Number(x)})
		}
	}
	p.grid()
	for _, s := range l.Series {
		p.series(s)
	}
	p.names()
	return p.svg(l.Label)
}

// drawable is what the axes can show.
func (l Lines) drawable() []Series {
	shows := func(a Axis, v float64) bool {
		return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log && v >= 0)
	}
	var out []Series
	for _, s := range l.Series {
		kept := Series{Name: s.Name, Slot: s.Slot}
		for _, p := range s.Points {
			if !shows(l.X, p.X) || !shows(l.Y, p.Y) {
				continue
			}
			if !shows(l.Y, p.Low) || !shows(l.Y, p.High) {
				p.Low, p.High = p.Y, p.Y
			}
			kept.Points = append(kept.Points, p)
		}
		if len(kept.Points) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// grid draws axes, ticks and titles.
func (p *plot) grid() {
	for _, t := range p.yt {
		y := p.y.at(t.At)
		p.line("grid", roomLeft, y, p.right, y)
		p.text("tick", "end", roomLeft-6, y+4, t.Text)
	}
	p.text("axis", "start", 2, 13, p.lines.Y.Title)
	p.line("base", roomLeft, p.end, p.right, p.end)
	for i, t := range p.xt {
		x := p.x.at(t.At)
		p.line("base", x, p.end, x, p.end+4)
		if p.room(i) {
			p.text("tick", "middle", x, p.end+17, t.Text)
		}
	}
	p.text("axis", "middle", (roomLeft+p.right)/2, linesHeight-6, p.lines.X.Title)
}

// room tells whether the text of a tick fits: the last one always does, the others
// if they leave room for it and for those before them.
func (p *plot) room(i int) bool {
	half := func(i int) float64 { return letter*float64(len(p.xt[i].Text))/2 + 3 }
	fits := func(a, b int) bool { return p.x.at(p.xt[b].At)-p.x.at(p.xt[a].At) >= half(a)+half(b) }
	last := len(p.xt) - 1
	if i == last {
		return true
	}
	if !fits(i, last) {
		return false
	}
	for j := i - 1; j >= 0; j-- {
		if p.room(j) {
			return fits(j, i)
		}
	}
	return true
}

// series draws a line with its marks.
func (p *plot) series(s Series) {
	d, before := "", -2
	for _, pt := range s.Points {
		i, _ := slices.BinarySearch(p.xs, pt.X)
		step := "L"
		if d == "" || i != before+1 && !p.lines.Bridge {
			step = "M"
		}
		d += step + num(p.x.at(pt.X)) + " " + num(p.y.at(pt.Y))
		before = i
	}
	p.b.WriteString(`<g class="` + class(s.Slot) + `">`)
	p.path("line", d)
	for _, pt := range s.Points {
		if pt.Bare {
			continue
		}
		x := p.x.at(pt.X)
		p.group("point", pt.Tip)
		if pt.High > pt.Low {
			p.whisker(x, p.y.at(pt.Low), p.y.at(pt.High))
		}
		p.mark(s.Slot, x, p.y.at(pt.Y))
		p.canvas.end()
	}
	p.canvas.end()
}

func (p *plot) whisker(x, low, high float64) {
	p.line("whisker", x, low, x, high)
	p.line("whisker", x-3, low, x+3, low)
	p.line("whisker", x-3, high, x+3, high)
}

// names puts the name of each series at the end of its line, moved apart where they
// would cover each other.
func (p *plot) names() {
	type name struct {
		s       Series
		x, y, t float64 // end of the line, and where the name goes
	}
	var all []name
	for _, s := range p.lines.Series {
		end := s.Points[len(s.Points)-1]
		y := p.y.at(end.Y)
		all = append(all, name{s, p.x.at(end.X), y, y})
	}
	slices.SortStableFunc(all, func(a, b name) int { return cmp.Compare(a.y, b.y) })
	gap := min(labelGap, (p.end-p.begin)/float64(max(1, len(all)-1)))
	for i := range all { // down, as far as need be, and then up from the bottom
		if i > 0 {
			all[i].t = max(all[i].t, all[i-1].t+gap)
		}
	}
	floor := p.end
	for i := len(all) - 1; i >= 0; i-- {
		all[i].t = min(all[i].t, floor)
		floor = all[i].t - gap
	}
	for _, n := range all {
		p.b.WriteString(`<g class="` + class(n.s.Slot) + `">`)
		p.line("leader", n.x+5, n.y, p.right+leader-6, n.t)
		p.mark(n.s.Slot, p.right+leader, n.t)
		p.text("name", "start", p.right+leader+legendMark, n.t+4, n.s.Name)
		p.canvas.end()
	}
}
