// SPDX-License-Identifier: MIT

package suite

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/rr"
)

// coalesceTest weighs throughput against latency: each setting of transmit coalescing
// has a stream, and then round trips.
func coalesceTest() Test {
	return Test{
		Name: "coalesce", What: "a stream and round trips, by how long a datagram waits for company", Kind: path.Stream,
		Defaults: Defaults{Paths: "xdp", Sizes: "64", MTU: "1500"},
		Rows: func(fs *flag.FlagSet) func(*Plan, Common) error {
			f := coalesceFlags{
				frames: values{name: "frames", usual: "1,2,4,8,16,32,64,128,256", quick: "1,16", least: 1, most: control.MaxRing},
				delays: values{name: "delays", usual: "0,4,20,50,100,200,500", quick: "0,100", most: int(control.MaxDelay / time.Microsecond)},
			}
			f.frames.define(fs, "counts of datagrams that are sent together, at -delay")
			f.delays.define(fs, "most time that one waits in µs, at -count")
			fs.DurationVar(&f.delay, "delay", 100*time.Microsecond, "most time that a datagram waits, for -frames")
			fs.IntVar(&f.count, "count", 64, "datagrams that are sent together, for -delays")
			return f.rows
		},
		Traffic: streamTraffic, Carried: arrived, Count: report.OneWay, Latency: rr.Name,
		Columns: coalesceColumns, Notes: coalesceNotes,
	}
}

// coalesceFlags are those of the test alone.
type coalesceFlags struct {
	frames, delays values
	delay          time.Duration
	count          int
}

// rows are two sweeps: one of counts, and one of times.
func (f *coalesceFlags) rows(p *Plan, c Common) error {
	counts, err1 := f.frames.parse(c.Quick)
	delays, err2 := f.delays.parse(c.Quick)
	if f.delay <= 0 || f.delay > control.MaxDelay {
		err2 = errors.Join(err2, fmt.Errorf("-delay %v: must be above 0 and at most %v", f.delay, control.MaxDelay))
	}
	if f.count < 1 || f.count > control.MaxRing {
		err2 = errors.Join(err2, fmt.Errorf("-count %d: must be 1 to %d", f.count, control.MaxRing))
	}
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	rows, err := sweepRows(c, "frames", counts, func(r *control.Row, n int) { r.Frames, r.Delay = n, f.delay })
	if err != nil {
		return err
	}
	more, err := sweepRows(c, "delay", delays, func(r *control.Row, n int) {
		r.Frames, r.Delay = f.count, time.Duration(n)*time.Microsecond
		r.Param = "delay=" + r.Delay.String()
	})
	p.Rows = append(rows, more...)
	return err
}

// coalesceColumns have the stream on the left and the round trips on the right.
func coalesceColumns() []report.Column {
	rates := slices.DeleteFunc(rateColumns(), func(c report.Column) bool { return c.Head == "where" || c.Head == "CPU" })
	return append(rates, report.Figure("recv by", "first", byFirst),
		report.Figure("p50", "µs", micros(func(l report.Latency) float64 { return l.P50 })),
		report.Figure("p99", "µs", micros(func(l report.Latency) float64 { return l.P99 })),
		report.Figure("p50 by", "first", func(r report.Row, rows []report.Row) string {
			if b, ok := first(r, rows); ok && b.Middle(median) > 0 {
				return fmt.Sprintf("%.2f", r.Middle(median)/b.Middle(median))
			}
			return "-"
		}),
		report.Figure("waits", "µs", func(r report.Row, rows []report.Row) string {
			b, ok := first(r, rows)
			if !ok {
				return "-"
			}
			return report.Three(max(0, r.Middle(median)-b.Middle(median)) / 2)
		}),
	)
}

func coalesceNotes(p Plan, doc report.Document) []string {
	var frames, delays control.Row
	for _, r := range p.Rows {
		if r.Param == fmt.Sprintf("frames=%d", r.Frames) {
			frames = r
		} else {
			delays = r
		}
	}
	return sweepNotes(p, doc,
		fmt.Sprintf("Transmit coalescing (udp.Config.Coalesce), weighed: for each setting datagrams one way, as fast as they go, and then round trips, one under way at a time, over a %s (MTU %s). A datagram that is sent waits in the TX ring until so many are there or the oldest has waited for so long; one system call sends them all.", doc.Env.Link, words(p.MTUs())),
		fmt.Sprintf("With frames, the time is %v; with delay, the count is %d. The first row of each sweep is without coalescing. Programs send one datagram a call here: batches coalesce by themselves.", frames.Delay, delays.Frames),
		"A lone datagram has no company: it waits for the delay, at either end of a round trip. Waits is what one waits each way, half of what p50 is above that of the first row. It can be less than the delay: in copy mode a program that sleeps in poll(2) has the kernel send what is in the TX ring, so that whoever waits for an answer waits no longer than it spins before that, 50 µs by default. And it can be more: here each end has one CPU, on which the timer waits for the spinning to end.",
	)
}
