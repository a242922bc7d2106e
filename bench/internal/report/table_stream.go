// SPDX-License-Identifier: MIT

package report

import "fmt"

// streamBaseline is the path that the last column compares with.
const streamBaseline = "mmsg"

// streamColumns show the run with the median receive rate: all figures of a row
// belong together.
func streamColumns() []column {
	return []column{
		{"mode", "", true, of(func(m Result) string { return m.Mode })},
		{"sent", "Mpps", false, of(func(m Result) string { return mpps(m.TXPPS) })},
		{"recv", "Mpps", false, of(func(m Result) string { return mpps(m.RXPPS) })},
		{"min..max", "Mpps", false, func(r Row, _ []Row) string { return mpps(r.Least()) + ".." + mpps(r.Most()) }},
		{"goodput", "", false, of(func(m Result) string { return bitrate(m.GoodputBPS) })},
		{"lost", "%", false, of(percent)},
		{"where", "", true, of(where)},
		{"CPU", "%", false, of(func(m Result) string { return fmt.Sprintf("%.0f", m.CPUUtil) })},
		{"demand", "µs/KB", false, of(func(m Result) string { return digits(m.ServiceDemand) })},
		{"times", streamBaseline, false, func(r Row, rows []Row) string { return ratio(r.Median(), rows) }},
	}
}

// of shows something of a row's median run.
func of(f func(Result) string) func(Row, []Row) string {
	return func(r Row, _ []Row) string { return f(r.Median()) }
}

func mpps(pps float64) string { return digits(pps / 1e6) }

// digits shows as much of a number as is worth reading, in six characters for
// all that can be expected.
func digits(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.3f", v)
	case v < 100:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.1f", v)
	}
}

func bitrate(bps float64) string {
	if bps >= 1e9 {
		return fmt.Sprintf("%.2f Gb/s", bps/1e9)
	}
	return fmt.Sprintf("%.0f Mb/s", bps/1e6)
}

// percent shows that something was lost even where it rounds to nothing.
func percent(r Result) string {
	p := r.LostPercent()
	switch {
	case p > 0 && p < 0.01:
		return "<0.01"
	case p < 10:
		return fmt.Sprintf("%.2f", p)
	default:
		return fmt.Sprintf("%.1f", p)
	}
}

// where names the place of most losses.
func where(r Result) string {
	place, ok := r.Loss.Main()
	if !ok {
		return "-"
	}
	if len(r.Loss) > 1 {
		return fmt.Sprintf("%s +%d", place, len(r.Loss)-1)
	}
	return string(place)
}

// ratio compares what m received with what the baseline did at that size.
func ratio(m Result, rows []Row) string {
	for _, r := range rows {
		if r.Path == streamBaseline && r.Size == m.Size && len(r.Runs) > 0 && r.Median().RXPPS > 0 {
			return fmt.Sprintf("%.2f", m.RXPPS/r.Median().RXPPS)
		}
	}
	return "-"
}
