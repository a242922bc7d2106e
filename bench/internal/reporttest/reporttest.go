// SPDX-License-Identifier: MIT

// Package reporttest makes documents of results that no bench has measured, for tests
// of what is done with results. Their figures are round, but their books balance: what
// must hold between the figures of a run does.
package reporttest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// processors is how many CPUs the machine has.
const processors = 2

// Env is that of a local bench.
func Env() report.Env {
	facts := control.Facts{
		Machine: "a", Kernel: "6.18.0", Arch: "amd64", Go: "go1.26.0", CPUModel: "Test(R) Processor <x> @ 1 GHz", CPUs: processors, GOMAXPROCS: 2,
	}
	e := report.Env{
		Tool: "xdpath bench", Command: []string{"bench", "-runs", "3"}, Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Kernel: facts.Kernel, Arch: facts.Arch, Go: facts.Go, CPUModel: facts.CPUModel, CPUs: facts.CPUs, Link: "veth pair",
		Duration: 1, Warmup: 0.2, Sender: facts, Receiver: facts, Notes: []string{"A note with <b>signs</b> & marks."},
	}
	e.Sender.Pinned, e.Receiver.Pinned = []int{0}, []int{1}
	return e
}

// Run is one run of a stream: what was received a second, and lost on the way.
func Run(key report.Key, mode string, run int, received, lost uint64) report.Result {
	r := report.Result{
		Test: "stream", Path: key.Path, Mode: mode, Size: key.Size, Param: key.Param, MTU: 1500, Batch: 64, Run: run, Seconds: 1,
		Sent: received + lost, Received: received, Lost: lost, Loss: loss.Split{}, TXPPS: float64(received + lost), RXPPS: float64(received),
		GoodputBPS: 8 * float64(received) * float64(key.Size), CPUUtil: 90,
	}
	if lost > 0 {
		r.Loss[loss.Socket] = lost
	}
	r.ServiceDemand = cpu.ServiceDemand(r.CPUUtil, processors, r.GoodputBPS/8)
	return r
}

// Trip is one run of round trips, with a tail.
func Trip(key report.Key, mode string, run int, p50 float64) report.Result {
	r := Run(key, mode, run, uint64(1e6/p50), 0)
	r.Test, r.Batch = "rr", 1
	r.Latency = &report.Latency{P50: p50, P90: p50 * 1.4, P99: p50 * 3, P999: p50 * 40, Max: p50 * 900}
	for _, p := range []struct{ percent, times float64 }{{0, 0.8}, {10, 0.9}, {25, 0.95}, {50, 1}, {75, 1.1}, {90, 1.4}, {95, 1.7}, {99, 3}, {99.9, 40}, {99.99, 300}, {100, 900}} {
		r.Latency.Percentiles = append(r.Latency.Percentiles, report.Percentile{Percent: p.percent, Micros: p50 * p.times})
	}
	return r
}

// spreads are by how much three runs differ.
var spreads = [...]float64{1, 0.93, 1.06}

// rates are what paths receive of 64 bytes, in thousands a second.
var rates = []struct {
	path, mode string
	kpps, lost float64
}{
	{"socket", "-", 600, 0}, {"mmsg", "-", 850, 60}, {"gso", "segmented", 1870, 200}, {"asavie", "native copy", 1200, 0},
	{"udpconn", "-", 410, 0}, {"xdp", "native copy", 1400, 10}, {"xdp-packetconn", "native copy", 850, 0}, {"xdp-raw", "native copy", 1450, 5},
}

// Stream has every path at some sizes, and one path that could not run.
func Stream(sizes ...int) report.Document {
	doc := report.Document{Env: Env()}
	for _, size := range sizes {
		for _, p := range rates {
			key := report.Key{Path: p.path, Size: size}
			doc.Env.Rows = append(doc.Env.Rows, key)
			for i, f := range spreads {
				f *= 1000 / (1 + float64(size)/4000)
				doc.Results = append(doc.Results, Run(key, p.mode, i+1, uint64(p.kpps*f), uint64(p.lost*f)))
			}
		}
		key := report.Key{Path: "xdp-zerocopy", Size: size}
		doc.Env.Rows = append(doc.Env.Rows, key)
		doc.Env.Skipped = append(doc.Env.Skipped, report.Skip{Key: key, Run: 1, Reason: `receiver: driver "veth" has no <zero-copy>: use copy`})
	}
	doc.Env.Buffers = []report.Buffer{{Key: report.Key{Path: "mmsg", Size: sizes[0]}, Asked: 212992, Got: 425984}}
	return report.Settle(doc)
}

// Trips has round trips at some sizes.
func Trips(sizes ...int) report.Document {
	doc := report.Document{Env: Env()}
	for _, size := range sizes {
		for _, p := range []struct {
			path, mode string
			p50        float64
		}{{"socket", "-", 50}, {"socket-spin", "-", 11}, {"asavie", "native copy", 48}, {"xdp", "native copy", 3.6}, {"xdp-busy", "native copy", 3.5}} {
			key := report.Key{Path: p.path, Size: size}
			doc.Env.Rows = append(doc.Env.Rows, key)
			for i, f := range spreads {
				doc.Results = append(doc.Results, Trip(key, p.mode, i+1, p.p50*f*(1+float64(size)/8000)))
			}
		}
	}
	return report.Settle(doc)
}

// Sweep has two paths over the values of one parameter, with latencies.
func Sweep(name string, values ...int) report.Document {
	doc := report.Document{Env: Env()}
	for _, v := range values {
		for _, path := range []string{"mmsg", "xdp"} {
			key := report.Key{Path: path, Size: 64, Param: fmt.Sprintf("%s=%d", name, v)}
			doc.Env.Rows = append(doc.Env.Rows, key)
			for i, f := range spreads {
				if path == "xdp" {
					f *= 1.6
				}
				r := Trip(key, "native copy", i+1, 10+float64(v))
				rate := Run(key, "native copy", i+1, uint64(600_000*f*math.Log2(float64(v)+2)), 0)
				rate.Latency = r.Latency
				doc.Results = append(doc.Results, rate)
			}
		}
	}
	return report.Settle(doc)
}

// Scale returns doc with the rate of a path in all its runs times f, and all that
// follows from it, as if another day had measured it.
func Scale(doc report.Document, path string, f float64) report.Document {
	doc.Results = slices.Clone(doc.Results)
	for i, r := range doc.Results {
		if r.Path == path && r.Latency == nil {
			doc.Results[i] = Run(r.Key(), r.Mode, r.Run, uint64(float64(r.Received)*f), r.Lost)
		}
		if r.Path == path && r.Latency != nil {
			doc.Results[i] = Trip(r.Key(), r.Mode, r.Run, r.Latency.P50/f)
		}
	}
	return report.Settle(doc)
}
