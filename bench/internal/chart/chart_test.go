// SPDX-License-Identifier: MIT

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An element is one of a drawing.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// elements reads a drawing, which must be well-formed.
func elements(t *testing.T, svg string) []element {
	t.Helper()
	var all []element
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch tok := token.(type) {
		case xml.StartElement:
			e := element{name: tok.Name.Local, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(tok)
			}
		}
	}
}

func classed(all []element, class string) (found []element) {
	for _, e := range all {
		if e.attrs["class"] == class {
			found = append(found, e)
		}
	}
	return found
}

func (e element) num(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attrs[name], 64)
	if err != nil {
		t.Fatalf("%s of %+v: %v", name, e, err)
	}
	return v
}

func TestLinearTicks(t *testing.T) {
	for most, want := range map[float64]string{
		0: "0 0.2 0.4 0.6 0.8 1", 1: "0 0.2 0.4 0.6 0.8 1", 1.4: "0 0.25 0.5 0.75 1 1.25 1.5", 0.03: "0 0.005 0.01 0.015 0.02 0.025 0.03",
		99: "0 20 40 60 80 100", 7: "0 2 4 6 8", 123456: "0 25k 50k 75k 100k 125k", 2.5e6: "0 500k 1M 1.5M 2M 2.5M",
	} {
		var got []string
		for _, tick := range linearTicks(most) {
			got = append(got, tick.Text)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("to %v: %s, want %s", most, g, want)
		}
	}
	// Whatever there is fits, in few ticks.
	for e := -9.0; e < 15; e += 0.037 {
		most := math.Pow(10, e)
		ticks := linearTicks(most)
		if n := len(ticks); n < 3 || n > 8 || ticks[n-1].At < most*(1-1e-6) || ticks[n-2].At >= most {
			t.Errorf("to %v: %+v", most, ticks)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, tt := range []struct {
		least, most float64
		want        string
	}{
		{3, 40, "2 5 10 20 50"}, {1, 10, "1 2 5 10"}, {7, 7, "5 10"}, {5, 5, "5 10"}, {0, 0, "1 2"}, {0.4, 3000, "0.2 1 10 100 1000 5000"},
	} {
		var got []string
		for _, tick := range thin(logTicks(tt.least, tt.most)) {
			got = append(got, tick.Text)
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%v to %v: %s, want %s", tt.least, tt.most, g, tt.want)
		}
	}
}

func sample() Lines {
	l := Lines{Label: `of "this" & that`, X: Axis{Title: "size", Log: true}, Y: Axis{Title: "rate"}}
	for i, name := range []string{"a", "b", "c<d>"} {
		s := Series{Name: name, Slot: i}
		for _, x := range []float64{1, 10, 100} {
			s.Points = append(s.Points, Point{X: x, Y: 5, Low: 4, High: 6, Tip: name + " & so"})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// TestLines: marks stand where their values are, the axis begins at zero, and names
// that end at one place are apart.
func TestLines(t *testing.T) {
	all := elements(t, string(sample().SVG()))
	if svg := all[0]; svg.attrs["aria-label"] != `of "this" & that` {
		t.Errorf("%+v", svg)
	}
	names := classed(all, "name")
	var ys []float64
	for _, n := range names {
		ys = append(ys, n.num(t, "y"))
	}
	slices.Sort(ys)
	if len(ys) != 3 || ys[1]-ys[0] < labelGap-0.1 || ys[2]-ys[1] < labelGap-0.1 || names[2].text != "c<d>" {
		t.Errorf("names at %v: %+v", ys, names)
	}
	// Y is 5 of 6: the mark is at five sixths of the way from the base to the top.
	circle := slices.IndexFunc(all, func(e element) bool { return e.name == "circle" })
	if got, want := all[circle].num(t, "cy"), linesHeight-roomBottom-5./6*(linesHeight-roomBottom-roomTop); math.Abs(got-want) > 0.1 {
		t.Errorf("5 stands at %v, want %v", got, want)
	}
	if n := len(classed(all, "whisker")); n != 3*3*3 {
		t.Errorf("%d parts of whiskers", n)
	}
	if ticks := classed(all, "tick"); ticks[0].text != "0" {
		t.Errorf("the axis begins at %s", ticks[0].text)
	}
}

// TestLinesImpossible: what no axis can show is not drawn, and what is left is.
func TestLinesImpossible(t *testing.T) {
	l := sample()
	for i, v := range []float64{math.NaN(), math.Inf(1), -1} {
		l.Series[i].Points[1].Y = v
	}
	l.Series = append(l.Series, Series{Name: "none"}, Series{Name: "worse", Points: []Point{{X: math.NaN(), Y: 1}}})
	svg := string(l.SVG())
	all := elements(t, svg)
	if n := len(classed(all, "point")); n != 6 || len(classed(all, "name")) != 3 || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%d points: %s", n, svg)
	}
	l.Y.Log = true
	for i := range l.Series {
		for j := range l.Series[i].Points {
			l.Series[i].Points[j].Y = 0
		}
	}
	if svg := string(l.SVG()); !strings.Contains(svg, "nothing to show") {
		t.Errorf("zeros on a log scale: %s", svg)
	}
}

// TestLinesGap: a line breaks where it has no value and others have, unless it is told
// to go on.
func TestLinesGap(t *testing.T) {
	l := sample()
	l.Series[0].Points = slices.Delete(l.Series[0].Points, 1, 2)
	for bridge, want := range map[bool]int{false: 2, true: 1} {
		l.Bridge = bridge
		d := classed(elements(t, string(l.SVG())), "line")[0].attrs["d"]
		if got := strings.Count(d, "M"); got != want {
			t.Errorf("bridge %v: %d parts, want %d: %s", bridge, got, want, d)
		}
	}
}

// TestBars: lengths are as values are, from zero on.
func TestBars(t *testing.T) {
	b := Bars{Label: "l", Axis: Axis{Title: "t", Log: true}, Bars: []Bar{
		{Name: "one", Value: 1, Low: 0.5, High: 1.5, Text: "1", Tip: "tip"}, {Name: "three", Slot: 1, Value: 3, Low: 3, High: 3, Beyond: 4, Text: "3"},
		{Name: "none", Missing: "no <such> driver"}, {Name: "bad", Value: math.Inf(1)},
	}}
	all := elements(t, string(b.SVG()))
	bars, beyond := classed(all, "bar"), classed(all, "beyond")
	if len(bars) != 3 || len(beyond) != 1 || len(classed(all, "missing")) != 1 || len(classed(all, "halo")) != 1 {
		t.Fatalf("%+v", all)
	}
	w1, w3, w4 := bars[0].num(t, "width"), bars[1].num(t, "width"), beyond[0].num(t, "width")
	if math.Abs(w3-3*w1) > 0.3 || math.Abs(w4-w1) > 0.3 || bars[0].attrs["x"] != bars[1].attrs["x"] {
		t.Errorf("widths of 1, 3 and 1 more: %v, %v, %v", w1, w3, w4)
	}
}

func TestTail(t *testing.T) {
	axis := NewTail(99.9)
	for p, want := range map[float64]float64{0: 0, 90: 1, 99: 2, 99.9: 3, 100: 3.6, 99.99: 3} {
		if got := axis.At(p); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v stands at %v, want %v", p, got, want)
		}
	}
	var texts []string
	for _, tick := range axis.Axis("t").Ticks {
		texts = append(texts, tick.Text)
	}
	if got := strings.Join(texts, " "); got != " 50 90 99 99.9 max" {
		t.Errorf("ticks %q", got)
	}
	if !axis.Named(99) || !axis.Named(100) || axis.Named(95) {
		t.Error("names")
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1 + 0.2: "0.3", 1472: "1472", 9999: "9999", 10_000: "10k", 1.5e6: "1.5M", 2e9: "2G", 0.00012: "0.00012", math.NaN(): "0"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	seen := map[string]bool{}
	for slot := range 5 {
		var c canvas
		c.mark(slot, 10, 10)
		seen[c.b.String()] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d shapes", len(seen))
	}
}
