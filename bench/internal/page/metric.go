// SPDX-License-Identifier: MIT

package page

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// A metric is a figure of a run that charts are of.
type metric struct {
	title string // of a chart of it
	axis  string // what it is and in what, on an axis
	good  string // which way is better
	of    func(report.Result) float64
	text  func(float64) string
	log   bool // lines of it span decades; bars are never logarithmic
}

func received(r report.Result) float64 { return r.RXPPS }

// p50 and p99 are of runs that have latencies.
func p50(r report.Result) float64 { return r.Latency.P50 }
func p99(r report.Result) float64 { return r.Latency.P99 }

func packets() metric {
	return metric{"Datagrams received", "million a second", "more is better", func(r report.Result) float64 { return r.RXPPS / 1e6 }, report.Digits, false}
}

func goodput() metric {
	return metric{"Payload received", "Gb/s", "more is better", func(r report.Result) float64 { return r.GoodputBPS / 1e9 }, report.Digits, false}
}

func demand(log bool) metric {
	return metric{"Service demand", "µs of CPU for each KB received", "less is better", func(r report.Result) float64 { return r.ServiceDemand }, report.Digits, log}
}

func lost() metric {
	return metric{"Lost", "% of what was sent", "less is better", report.Result.LostPercent, report.Percent, false}
}

func trips() metric {
	return metric{"Round trips", "thousand a second", "more is better", func(r report.Result) float64 { return r.RXPPS / 1e3 }, report.Three, false}
}

func latency(name string, of func(report.Result) float64) metric {
	return metric{"Round trip, " + name, "µs", "less is better", of, report.Three, true}
}

// tip is what a mark says of a row when it is pointed at.
func (m metric) tip(r report.Row) string {
	s := r.Spread(m.of)
	mode := ""
	if r.Runs[0].Mode != "-" {
		mode = " (" + r.Runs[0].Mode + ")"
	}
	return fmt.Sprintf("%s%s: %s, median of %d; %s to %s", r.Key, mode, m.text(s.Median), s.Runs, m.text(s.Min), m.text(s.Max))
}
