// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"math"

	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stats"
)

// Config says what counts.
type Config struct {
	// Least is by how many percent the median of a figure must have changed to
	// count. It is not negative.
	Least float64
}

// alpha is the chance below which a difference is none of chance.
const alpha = 0.05

// ranges is from how many runs on their range tells something of the noise.
const ranges = 3

// A Verdict is what became of a figure.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "~"
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Perhaps Verdict = "perhaps" // too few runs to tell
	Gone    Verdict = "gone"    // the row ran, and does not any more
	New     Verdict = "new"     // the row runs, and did not before
)

// A Change is one figure of one row in both documents. A row that is gone or new has
// no figures, and a reason if there is one.
type Change struct {
	Key      report.Key
	Figure   string
	Old, New stats.Summary
	Change   float64 // of the median, in percent
	P        float64 // chance that as much is none; 1 where there is nothing to tell
	Verdict  Verdict
	Reason   string
}

// A Comparison is what Documents finds.
type Comparison struct {
	Changes  []Change
	Warnings []string // of what makes the two hard to compare
}

// Regressed tells whether anything is worse, or gone.
func (c Comparison) Regressed() bool {
	return c.count(Worse)+c.count(Gone) > 0
}

func (c Comparison) count(v Verdict) (n int) {
	for _, ch := range c.Changes {
		if ch.Verdict == v {
			n++
		}
	}
	return n
}

// Documents compares two, which have been read by report.Read. It fails if they are
// of different tests.
func Documents(old, now report.Document, cfg Config) (Comparison, error) {
	if a, b := test(old), test(now); a != b && a != "" && b != "" {
		return Comparison{}, fmt.Errorf("results of %s and of %s cannot be compared", a, b)
	}
	c := Comparison{Warnings: environments(old, now)}
	before := map[report.Key]report.Row{}
	for _, r := range report.Rows(old) {
		before[r.Key] = r
	}
	for _, r := range report.Rows(now) {
		b, known := before[r.Key]
		delete(before, r.Key)
		switch had, has := known && len(b.Runs) > 0, len(r.Runs) > 0; {
		case had && has:
			c.Changes = append(c.Changes, rows(b, r, cfg)...)
			c.Warnings = append(c.Warnings, settings(b, r)...)
		case had:
			c.Changes = append(c.Changes, Change{Key: r.Key, P: 1, Verdict: Gone, Reason: r.Reason})
		case has:
			c.Changes = append(c.Changes, Change{Key: r.Key, P: 1, Verdict: New})
		}
	}
	for _, r := range report.Rows(old) {
		if _, left := before[r.Key]; left && len(r.Runs) > 0 {
			c.Changes = append(c.Changes, Change{Key: r.Key, P: 1, Verdict: Gone, Reason: "not in the new results"})
		}
	}
	return c, nil
}

func test(doc report.Document) string {
	for _, r := range doc.Results {
		return r.Test
	}
	return ""
}

// A figure is one that is compared.
type figure struct {
	name string
	more bool // is better
	of   func(report.Result) float64
}

// figures are those of streams, of round trips, or of streams that round trips followed.
func figures(stream, trips bool) []figure {
	var all []figure
	if stream || !trips {
		all = append(all, figure{"recv Mpps", true, func(r report.Result) float64 { return r.RXPPS / 1e6 }})
	}
	if trips {
		all = append(all,
			figure{"p50 µs", false, func(r report.Result) float64 { return r.Latency.P50 }},
			figure{"p99 µs", false, func(r report.Result) float64 { return r.Latency.P99 }},
		)
	}
	return append(all, figure{"demand µs/KB", false, func(r report.Result) float64 { return r.ServiceDemand }})
}

// rows compares the figures of a row that both have.
func rows(old, now report.Row, cfg Config) []Change {
	var all []Change
	for _, f := range figures(old.Runs[0].Stream() && now.Runs[0].Stream(), old.HasLatency() && now.HasLatency()) {
		a, b := old.Sorted(f.of), now.Sorted(f.of)
		c := Change{Key: now.Key, Figure: f.name, Old: stats.Summarize(a), New: stats.Summarize(b), P: stats.PValue(a, b)}
		c.Verdict = Same
		switch {
		case c.Old.Median > 0:
			c.Change = 100 * (c.New.Median/c.Old.Median - 1)
		case c.New.Median > 0:
			c.Change = math.Inf(1)
		}
		if math.Abs(c.Change) >= cfg.Least && c.Change != 0 {
			c.Verdict = c.judge(f.more)
		}
		all = append(all, c)
	}
	return all
}

// judge tells whether a change of the median is more than chance.
func (c Change) judge(more bool) Verdict {
	which := Worse
	if more == (c.Change > 0) {
		which = Better
	}
	a, b := c.Old, c.New
	if stats.LeastP(a.Runs, b.Runs) < alpha {
		if c.P < alpha {
			return which
		}
		return Same
	}
	gap := max(b.Min-a.Max, a.Min-b.Max)
	switch {
	case gap <= 0:
		return Same
	case min(a.Runs, b.Runs) >= ranges && gap > max(a.Max-a.Min, b.Max-b.Min):
		return which
	default:
		return Perhaps
	}
}
