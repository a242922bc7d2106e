// SPDX-License-Identifier: MIT

package suite

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A values is a flag that lists the values of a sweep.
type values struct {
	name         string
	usual, quick string // lists, for a run and for a look
	least, most  int
	list         string // as given; empty: usual, or quick
}

// define puts the flag into a set. What tells what the values are.
func (v *values) define(fs *flag.FlagSet, what string) {
	fs.StringVar(&v.list, v.name, "", fmt.Sprintf("%s, separated by commas (default %s)", what, v.usual))
}

// parse returns the values, in the order given.
func (v *values) parse(quick bool) ([]int, error) {
	list := v.list
	switch {
	case list != "":
	case quick:
		list = v.quick
	default:
		list = v.usual
	}
	var all []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < v.least || n > v.most {
			return nil, fmt.Errorf("-%s %s: %q must be a number from %d to %d", v.name, list, s, v.least, v.most)
		}
		if slices.Contains(all, n) {
			return nil, fmt.Errorf("-%s %s: %d stands there twice", v.name, list, n)
		}
		all = append(all, n)
	}
	return all, nil
}

// sweepFlag is the Rows of a test that has one flag, v: what tells what its values are,
// and set puts one into a row, which is named by it.
func sweepFlag(v values, what, name string, set func(*control.Row, int)) func(*flag.FlagSet) func(*Plan, Common) error {
	return func(fs *flag.FlagSet) func(*Plan, Common) error {
		v := v
		v.define(fs, what)
		return func(p *Plan, c Common) error {
			all, err := v.parse(c.Quick)
			if err != nil {
				return err
			}
			p.Rows, err = sweepRows(c, name, all, set)
			return err
		}
	}
}

// sweepRows are the paths at each value of a setting, those of a value together. The
// flags of a sweep take one MTU.
func sweepRows(c Common, name string, all []int, set func(*control.Row, int)) ([]control.Row, error) {
	if len(c.MTUs) > 1 {
		return nil, errors.New("-mtu: a sweep is at one MTU")
	}
	var rows []control.Row
	for _, size := range c.Sizes {
		for _, v := range all {
			for _, path := range c.Paths {
				row := c.Row(path, size, c.MTUs[0])
				row.Param = fmt.Sprintf("%s=%d", name, v)
				set(&row, v)
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// sweepColumns show the run with the median receive rate, and how it compares with
// that of the sweep's first value.
func sweepColumns() []report.Column {
	return append(rateColumns(), report.Figure("by", "first", byFirst))
}

// rateColumns are those that all sweeps have.
func rateColumns() []report.Column {
	return []report.Column{
		report.Words("mode", "", report.Of(narrow)),
		report.Figure("sent", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.TXPPS) })),
		report.Figure("recv", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.RXPPS) })),
		report.Figure("min..max", "Mpps", func(r report.Row, _ []report.Row) string {
			return report.Mpps(r.Least()) + ".." + report.Mpps(r.Most())
		}),
		report.Figure("lost", "%", report.Of(func(m report.Result) string { return report.Percent(m.LostPercent()) })),
		report.Words("where", "", report.Of(where)),
		report.Figure("CPU", "%", report.Of(func(m report.Result) string { return fmt.Sprintf("%.0f", m.CPUUtil) })),
		report.Figure("demand", "µs/KB", report.Of(func(m report.Result) string { return report.Digits(m.ServiceDemand) })),
	}
}

// narrow is a run's mode, in two lines if it is long: a sweep has a column more than
// other tables.
func narrow(m report.Result) string {
	if len(m.Mode) > len("native copy") {
		return strings.Replace(m.Mode, " ", "\n", 1)
	}
	return m.Mode
}

// byFirst divides what r received by what the first row of its sweep did.
func byFirst(r report.Row, rows []report.Row) string {
	if b, ok := first(r, rows); ok && b.Median().RXPPS > 0 {
		return fmt.Sprintf("%.2f", r.Median().RXPPS/b.Median().RXPPS)
	}
	return "-"
}

// first is the first row of the sweep that r is in: of the same path, size and setting.
func first(r report.Row, rows []report.Row) (report.Row, bool) {
	name, _, _ := strings.Cut(r.Param, "=")
	for _, b := range rows {
		other, _, _ := strings.Cut(b.Param, "=")
		if b.Path == r.Path && b.Size == r.Size && other == name {
			return b, len(b.Runs) > 0
		}
	}
	return report.Row{}, false
}

// sweepNotes are those of every sweep, beneath what it says of itself.
func sweepNotes(p Plan, doc report.Document, what ...string) []string {
	notes := append(what,
		fmt.Sprintf("Each row is the run with the median receive rate of %s of %v after a warm-up of %v; min..max is of the receive rate. Rows took turns.", runs(p), p.Duration, p.Warmup),
		machine(doc.Env, "Sender", "receiver", "soft interrupts run on the sender's CPU"),
		"CPU is of the whole machine: what is not idle, by /proc/stat in ticks of 10 ms; demand is busy CPU time for each 1,024 bytes received.",
	)
	notes = append(notes, gsoNotes(p, doc.Env)...)
	return append(notes, pathNotes(p.Paths())...)
}
