// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// link describes the wire of a local bench.
const link = "veth pair between two network namespaces of one machine"

// document puts the outcome and all that explains it together.
func document(opts options, out referee.Outcome, busy float64) report.Document {
	s, wire := out.Sender, link
	if opts.peer.addr != "" {
		wire = describe(opts.peer.addr, out.Sender, out.Receiver)
	}
	doc := report.Document{
		Env: report.Env{
			Tool: "xdpath bench", Command: append([]string{"bench"}, opts.args...), Time: time.Now().UTC(),
			Kernel: s.Kernel, Arch: s.Arch, Go: s.Go, CPUModel: s.CPUModel, CPUs: s.CPUs, Link: wire, Peer: opts.peer.addr,
			Duration: opts.plan.Duration.Seconds(), Warmup: opts.plan.Warmup.Seconds(),
			Sender: out.Sender, Receiver: out.Receiver,
			Skipped: out.Skipped, Buffers: out.Buffers, ProcessCPU: out.ProcessCPU,
			Rows: opts.plan.Keys(), BusyBefore: busy, PeerBusy: opts.peerBusy,
		},
		Results: out.Results,
	}
	doc = report.Settle(doc)
	doc.Env.Notes = notes(opts.plan, doc, out)
	return doc
}
