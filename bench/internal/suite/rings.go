// SPDX-License-Identifier: MIT

package suite

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// knobs are what the sizes of a sweep are of.
var knobs = map[string]func(*control.Row, int){
	"ring": func(r *control.Row, n int) { r.Ring = n },
	"rx":   func(r *control.Row, n int) { r.RX = n },
	"tx":   func(r *control.Row, n int) { r.TX = n },
	"fill": func(r *control.Row, n int) { r.Fill = n },
}

// ringsTest shows how much room is enough.
func ringsTest() Test {
	return Test{
		Name: "rings", What: "a stream, by the sizes of rings and buffers", Kind: path.Stream,
		Defaults: Defaults{Paths: "mmsg,xdp", Sizes: "64", MTU: "1500", Batch: 64},
		Rows: func(fs *flag.FlagSet) func(*Plan, Common) error {
			v := values{name: "rings", usual: "64,128,256,512,1024,2048,4096", quick: "64,4096", least: 1, most: control.MaxRing}
			v.define(fs, "entries, powers of two")
			vary := fs.String("vary", "ring", "what has them, separated by commas: ring (all rings, and as many datagrams in a socket's buffer), or of xdp-raw rx, tx, fill alone")
			return func(p *Plan, c Common) error { return ringRows(p, c, &v, *vary) }
		},
		Traffic: streamTraffic, Carried: arrived, Count: report.OneWay,
		Columns: sweepColumns, Notes: ringNotes,
	}
}

func ringRows(p *Plan, c Common, v *values, vary string) error {
	all, err := v.parse(c.Quick)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(n int) bool { return n&(n-1) != 0 }); i >= 0 {
		return fmt.Errorf("-rings: %d is no power of two", all[i])
	}
	for name := range strings.SplitSeq(vary, ",") {
		set, ok := knobs[name]
		if !ok {
			return fmt.Errorf("-vary %s: no %q, there are ring, rx, tx, fill", vary, name)
		}
		rows, err := sweepRows(c, name, all, set)
		if err != nil {
			return err
		}
		p.Rows = append(p.Rows, rows...)
	}
	return nil
}

func ringNotes(p Plan, doc report.Document) []string {
	return sweepNotes(p, doc,
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %s). With ring, RX, TX, fill and completion ring of AF_XDP have so many entries, and a socket's buffers room for as many datagrams; rx, tx and fill set one ring, the others have %d.", doc.Env.Link, words(p.MTUs()), path.Hold),
		"What bursts in must find room until somebody looks: no ring may be smaller than the longest burst. The fill ring is to be as large as the RX ring at least, since a datagram takes an entry of each. A ring that is too small for its rate shows under where: rx ring full, fill ring empty; a socket's as socket buffer.",
	)
}
