// SPDX-License-Identifier: MIT

package page

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/chart"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/reporttest"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

func write(t *testing.T, doc report.Document) string {
	t.Helper()
	test := suite.All()[0]
	if len(doc.Results) > 0 {
		var err error
		if test, err = suite.Find(doc.Results[0].Test); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := Write(&b, doc, test.Columns()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// samples are pages of every kind.
func samples(t *testing.T) map[string]string {
	none := report.Document{Env: reporttest.Env()}
	none.Env.Rows = []report.Key{{Path: "xdp", Size: 64}}
	return map[string]string{
		"two":   write(t, reporttest.Stream(64, 1472)),
		"sizes": write(t, reporttest.Stream(18, 64, 128, 256, 512, 1024, 1400, 1472, 8000)),
		"trips": write(t, reporttest.Trips(64)),
		"over":  write(t, reporttest.Trips(64, 1472, 8000)),
		"sweep": write(t, reporttest.Sweep("usecs", 0, 4, 16, 50, 100, 200, 500)),
		"few":   write(t, reporttest.Sweep("mtu", 1500, 8000)),
		"none":  write(t, none),
	}
}

// TestAlone: the page names nothing to load, and has no script.
func TestAlone(t *testing.T) {
	for name, page := range samples(t) {
		for _, word := range []string{"http://", "https://", "//cdn", "<script", "<link", "<img", "@import", "url(", "src="} {
			if strings.Contains(page, word) {
				t.Errorf("%s: has %s", name, word)
			}
		}
		if !strings.Contains(page, "prefers-color-scheme: dark") || !strings.Contains(page, "@media print") {
			t.Errorf("%s: not for dark rooms and paper", name)
		}
	}
}

// TestDrawings: each is well-formed, says what it shows, and has no number that is
// none.
func TestDrawings(t *testing.T) {
	drawing := regexp.MustCompile(`(?s)<svg .*?</svg>`)
	for name, page := range samples(t) {
		for _, svg := range drawing.FindAllString(page, -1) {
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				_, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v in %s", name, err, svg)
				}
			}
			if !strings.Contains(svg, `role="img" aria-label="`) || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%s: %.300s", name, svg)
			}
		}
	}
}

// TestPaint: a path has the same colour on every page that has no more than there are
// colours, and no two paths look alike.
func TestPaint(t *testing.T) {
	row := func(paths ...string) (rows []report.Row) {
		for _, p := range paths {
			rows = append(rows, report.Row{Key: report.Key{Path: p}})
		}
		return rows
	}
	a, b := slots(row("socket", "socket-spin", "xdp")), slots(row("xdp", "mmsg", "socket"))
	if a["xdp"] != b["xdp"] || a["socket"] != b["socket"] || a["socket-spin"] == b["mmsg"] && a["socket-spin"] == a["xdp"] {
		t.Errorf("%v, %v", a, b)
	}
	many := slots(row(append(preferred(), "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")...))
	looks := map[[2]int]string{}
	for p, s := range many {
		key := [2]int{s % chart.Slots, s % 5}
		if other, ok := looks[key]; ok {
			t.Errorf("%s and %s look alike", p, other)
		}
		looks[key] = p
	}
	few := slices.Sorted(maps.Values(slots(row("xdp-block", "xdp-busy", "xdp", "x", "y", "z", "q", "socket"))))
	if !slices.Equal(few, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("eight paths have %v", few)
	}
}

func TestSweepAxis(t *testing.T) {
	for _, tt := range []struct {
		params []string
		name   string
		log    bool
		at     []float64
	}{
		{[]string{"batch=1", "batch=8", "batch=256"}, "batch (log scale)", true, []float64{1, 8, 256}},
		{[]string{"usecs=0", "usecs=500"}, "usecs", false, []float64{0, 500}},
		{[]string{"wait=4us", "wait=1ms"}, "wait (log scale)", true, []float64{4, 1000}},
		{[]string{"ring=small", "ring=large"}, "ring", false, []float64{0, 1}},
		{[]string{"busy", "adaptive"}, "setting", false, []float64{0, 1}},
	} {
		var rows []report.Row
		for _, p := range tt.params {
			rows = append(rows, report.Row{Key: report.Key{Path: "xdp", Size: 64, Param: p}})
		}
		all := sweeps(rows)
		if len(all) != 1 {
			t.Fatalf("%q: %d sweeps", tt.params, len(all))
		}
		a := all[0].axis()
		var at []float64
		for _, tick := range a.Ticks {
			at = append(at, tick.At)
		}
		if a.Title != tt.name || a.Log != tt.log || !slices.Equal(at, tt.at) {
			t.Errorf("%q: %+v", tt.params, a)
		}
	}
}
