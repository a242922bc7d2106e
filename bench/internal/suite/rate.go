// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/udp"
)

// rateTest sends at a rate, or looks for the highest one without loss.
func rateTest() Test {
	return Test{
		Name: "rate", What: "a stream at fixed rates, or a search for the highest without loss", Kind: path.Stream,
		Defaults: Defaults{Paths: "socket,mmsg,xdp", Sizes: "64", MTU: "1500", Batch: 16},
		Rows: func(fs *flag.FlagSet) func(*Plan, Common) error {
			v := values{name: "rates", usual: "50000,100000,200000,400000,800000", quick: "50000,400000", least: 1, most: control.MaxRate}
			v.define(fs, "datagrams a second")
			limits := fs.String("search", "", "instead of -rates, search for the highest rate at which no more than so much is lost, in `percent`, separated by commas: 0,0.1")
			return func(p *Plan, c Common) (err error) {
				if *limits != "" {
					p.Rows, err = searchRows(c, *limits)
					return err
				}
				all, err := v.parse(c.Quick)
				if err == nil {
					p.Rows, err = sweepRows(c, "rate", all, func(r *control.Row, n int) { r.Rate = float64(n) })
				}
				return err
			}
		},
		Traffic: rateTraffic, Carried: arrived, Count: countRate,
		Columns: rateTestColumns, Notes: rateNotes,
	}
}

// searchRows are the paths at each limit.
func searchRows(c Common, list string) ([]control.Row, error) {
	var all []control.Row
	for text := range strings.SplitSeq(list, ",") {
		limit, err := strconv.ParseFloat(text, 64)
		if err != nil || !(limit >= 0 && limit < 100) {
			return nil, fmt.Errorf("-search %s: %q must be a number from 0 to below 100, of percent", list, text)
		}
		rows, err := sweepRows(c, "loss", []int{0}, func(r *control.Row, _ int) {
			r.Param, r.Search, r.Limit = "loss="+text, true, limit
		})
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// rateTraffic is that of a stream whose sender waits for its time.
func rateTraffic(ctx context.Context, s Side) error {
	rate := s.Start.Rate
	if rate == 0 {
		rate = s.Prepare.Rate
	}
	tx, ok := s.End.(path.Sender)
	if !ok || rate == 0 {
		return streamTraffic(ctx, s)
	}
	pacer, err := udp.NewPacer(udp.PacerConfig{Rate: rate / float64(s.Prepare.Batch)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Start.Duration)
	defer cancel()
	s.End = &pacedSender{Sender: tx, ctx: ctx, pacer: pacer, batch: s.Prepare.Batch}
	return streamTraffic(ctx, s)
}

// A pacedSender lends buffers when a batch is due.
type pacedSender struct {
	path.Sender
	ctx   context.Context
	pacer *udp.Pacer
	batch int
	owed  int // of a batch, for which there was no room at its time
}

// Reserve implements stream.Sender. When the time is over it lends none.
func (s *pacedSender) Reserve(bufs [][]byte) (int, error) {
	if s.owed == 0 {
		if err := s.pacer.Wait(s.ctx); err != nil {
			if errors.Is(err, s.ctx.Err()) {
				err = nil
			}
			return 0, err
		}
		s.owed = s.batch
	}
	n, err := s.Sender.Reserve(bufs[:min(s.owed, len(bufs))])
	s.owed -= n
	return n, err
}

// countRate adds the rate to what OneWay counts.
func countRate(p control.Prepare, tx, rx report.Side) (report.Result, error) {
	r, err := report.OneWay(p, tx, rx)
	r.Offered = p.Rate
	return r, err
}

// rateTestColumns have the rate that was wanted beside those that were had. CPU is in
// the table below, for want of room.
func rateTestColumns() []report.Column {
	columns := slices.DeleteFunc(rateColumns(), func(c report.Column) bool { return c.Head == "CPU" })
	return slices.Insert(columns, 1, report.Figure("offered", "Mpps", report.Of(func(m report.Result) string {
		if m.Offered == 0 {
			return "most"
		}
		return report.Mpps(m.Offered)
	})))
}

func rateNotes(p Plan, doc report.Document) []string {
	first := p.Rows[0]
	what := []string{
		fmt.Sprintf("UDP datagrams one way at a rate, over a %s (MTU %s), %d at a time: a batch leaves when it is due by a clock, the same on every path, which looks at the time again and again below 100 µs. So the CPU figures have the sender's clock in them.", doc.Env.Link, words(p.MTUs()), first.Batch),
	}
	if first.Search {
		what = append(what, fmt.Sprintf("Each row is the highest rate found at which no more than that share was lost, in percent: first as fast as the sender can (most, if that was it), then by halves, until the step is %g %% or %d windows were tried. One burst of the machine's own fails a window: the less a machine has to spare, the lower the figure.", 100*searchStep, searchMost))
	}
	if slow := belowOffer(doc.Results); len(slow) > 0 {
		what = append(what, "WARNING: the sender is the limit: it sent less than was offered: "+strings.Join(slow, "; ")+".")
	}
	return sweepNotes(p, doc, what...)
}

// belowOffer names the rows in which a run's sender did not keep up.
func belowOffer(results []report.Result) []string {
	var rows []string
	for _, r := range results {
		if name := r.Key().String(); r.TXPPS < offered*r.Offered && !slices.Contains(rows, name) {
			rows = append(rows, name)
		}
	}
	return rows
}
