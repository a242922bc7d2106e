// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// streamBaseline is the path that the last column compares with.
const streamBaseline = "mmsg"

// streamColumns show the run with the median receive rate: all figures of a row
// belong together.
func streamColumns() []report.Column {
	return []report.Column{
		report.Words("mode", "", report.Of(func(m report.Result) string { return m.Mode })),
		report.Figure("sent", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.TXPPS) })),
		report.Figure("recv", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.RXPPS) })),
		report.Figure("min..max", "Mpps", func(r report.Row, _ []report.Row) string {
			return report.Mpps(r.Least()) + ".." + report.Mpps(r.Most())
		}),
		report.Figure("goodput", "", report.Of(func(m report.Result) string { return report.Bitrate(m.GoodputBPS) })),
		report.Figure("lost", "%", report.Of(func(m report.Result) string { return report.Percent(m.LostPercent()) })),
		report.Words("where", "", report.Of(where)),
		report.Figure("CPU", "%", report.Of(func(m report.Result) string { return fmt.Sprintf("%.0f", m.CPUUtil) })),
		report.Figure("demand", "µs/KB", report.Of(func(m report.Result) string { return report.Digits(m.ServiceDemand) })),
		report.Figure("times", streamBaseline, ratio),
	}
}

// where names the place of most losses.
func where(r report.Result) string {
	place, ok := r.Loss.Main()
	if !ok {
		return "-"
	}
	if len(r.Loss) > 1 {
		return fmt.Sprintf("%s +%d", place, len(r.Loss)-1)
	}
	return string(place)
}

// ratio compares what r received with what the baseline did.
func ratio(r report.Row, rows []report.Row) string {
	if b, ok := r.Find(streamBaseline, rows); ok && b.Median().RXPPS > 0 {
		return fmt.Sprintf("%.2f", r.Median().RXPPS/b.Median().RXPPS)
	}
	return "-"
}
