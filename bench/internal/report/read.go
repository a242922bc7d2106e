// SPDX-License-Identifier: MIT

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// MaxDocument is the most bytes of a document that are read: a bench of a thousand
// runs of every path writes a tenth of it.
const MaxDocument = 64 << 20

// Read reads a document that a bench has written, this one or an older one: fields
// that it does not know are no error, figures that cannot be are. What it returns can
// be drawn and compared without a further look at its numbers. Rows that the document
// does not list, as those of older ones, are added to it.
func Read(r io.Reader) (Document, error) {
	var doc Document
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	switch {
	case err != nil:
		return doc, err
	case len(text) > MaxDocument:
		return doc, fmt.Errorf("more than %d bytes", MaxDocument)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return doc, fmt.Errorf("no results of a bench: %w", err)
	}
	if len(doc.Results) == 0 && len(doc.Env.Skipped) == 0 {
		return doc, errors.New("no results of a bench: neither results nor env.skipped has anything")
	}
	for i, m := range doc.Results {
		if err := m.check(); err != nil {
			return doc, fmt.Errorf("results[%d]: %w", i, err)
		}
		if m.Test != doc.Results[0].Test {
			return doc, fmt.Errorf("results[%d]: test %.40q in a file of %.40q", i, m.Test, doc.Results[0].Test)
		}
	}
	doc.listRows()
	return Settle(doc), nil
}

// check tells what in a result cannot be.
func (r Result) check() error {
	var errs []error
	text := func(name, v string, empty bool) {
		if v == "" && !empty || len(v) > maxName {
			errs = append(errs, fmt.Errorf("%s of %d bytes", name, len(v)))
		}
	}
	figure := func(name string, v, least, most float64) {
		if !(v >= least && v <= most) {
			errs = append(errs, fmt.Errorf("%s %v: must be %v to %v", name, v, least, most))
		}
	}
	text("test", r.Test, false)
	text("path", r.Path, false)
	text("param", r.Param, true)
	figure("size", float64(r.Size), 0, 1<<20)
	figure("mtu", float64(r.MTU), 0, 1<<20)
	figure("run", float64(r.Run), 0, math.MaxInt32)
	figure("seconds", r.Seconds, math.SmallestNonzeroFloat64, maxFigure)
	figure("tx_pps", r.TXPPS, 0, maxFigure)
	figure("rx_pps", r.RXPPS, 0, maxFigure)
	figure("goodput_bps", r.GoodputBPS, 0, maxFigure)
	figure("cpu_util_pct", r.CPUUtil, 0, 100)
	figure("service_demand_us_per_kb", r.ServiceDemand, 0, maxFigure)
	for _, v := range []float64{r.TXSeconds, r.RXSeconds, r.TXCPUUtil, r.RXCPUUtil, r.TXDemand, r.RXDemand} {
		figure("figure of an end", v, 0, maxFigure)
	}
	if r.Received > r.Sent || r.Lost != r.Sent-r.Received {
		errs = append(errs, fmt.Errorf("sent %d, received %d, lost %d", r.Sent, r.Received, r.Lost))
	}
	if u := r.Use; u != nil {
		for _, v := range []float64{u.User, u.System, u.SoftIRQ, u.IRQ, u.Steal, u.TXProcess, u.RXProcess, u.PerDatagram} {
			figure("figure of use", v, 0, maxFigure)
		}
	}
	if r.Latency != nil {
		for _, p := range append(r.Latency.Distribution(), r.Latency.named()...) {
			figure("percent of a latency", p.Percent, 0, 100)
			figure("latency", p.Micros, 0, maxFigure)
		}
	}
	return errors.Join(errs...)
}

// Bounds of what is read.
const (
	maxName   = 256  // bytes of a name
	maxFigure = 1e15 // of anything a second, and of anything measured in µs
)

// listRows completes the list of the table's rows, in the order of the runs.
func (d *Document) listRows() {
	seen := map[Key]bool{}
	add := func(k Key) {
		if !seen[k] {
			seen[k] = true
			d.Env.Rows = append(d.Env.Rows, k)
		}
	}
	listed := d.Env.Rows
	d.Env.Rows = nil
	for _, k := range listed {
		add(k)
	}
	for _, r := range d.Results {
		add(r.Key())
	}
	for _, s := range d.Env.Skipped {
		add(s.Key)
	}
}
