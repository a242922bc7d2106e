// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// link describes the wire of a local bench.
const link = "veth pair between two network namespaces of one machine"

// document puts the outcome and all that explains it together.
func document(opts options, out referee.Outcome, busy float64) report.Document {
	s := out.Sender
	return report.Document{
		Env: report.Env{
			Tool: "xdpath bench", Command: append([]string{"bench"}, opts.args...), Time: time.Now().UTC(),
			Kernel: s.Kernel, Arch: s.Arch, Go: s.Go, CPUModel: s.CPUModel, CPUs: s.CPUs, Link: link,
			Duration: opts.plan.Duration.Seconds(), Warmup: opts.plan.Warmup.Seconds(),
			Sender: out.Sender, Receiver: out.Receiver,
			Skipped: out.Skipped, Buffers: out.Buffers, ProcessCPU: out.ProcessCPU,
			Notes: notes(opts, out, busy), BusyBefore: busy,
		},
		Results: out.Results,
	}
}

// notes are the sentences beneath the table.
func notes(opts options, out referee.Outcome, busy float64) []string {
	p, s, r := opts.plan, out.Sender, out.Receiver
	notes := []string{
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %d). A veth is never zero-copy: AF_XDP copies here. Where nothing is lost the sender is the limit, where much is lost the receiver.", link, p.MTU),
		fmt.Sprintf("Each row is the run with the median receive rate of %d, each of %v after a warm-up of %v; min..max is of the receive rate. Paths took turns.", p.Runs, p.Duration, p.Warmup),
		fmt.Sprintf("Linux %s, %s, %s, %d CPUs. Sender on CPU %s, receiver on CPU %s, GOMAXPROCS %d and %d; soft interrupts run on the sender's CPU.",
			s.Kernel, s.Go, s.CPUModel, s.CPUs, list(s.Pinned), list(r.Pinned), s.GOMAXPROCS, r.GOMAXPROCS),
		"CPU is of the whole machine, from /proc/stat in ticks of 10 ms; demand is netperf's service demand: busy CPU time for each 1,024 bytes received.",
		"Sender and receiver touch every payload byte on every path. UDP checksums: sockets leave them to a veth, which never computes them; the AF_XDP paths send 0, which means none.",
		fmt.Sprintf("Every path can hold %d datagrams unread. Socket receivers block in their call, asavie in poll, xdp waits as its library does by default. XDP programs are attached for the runs of AF_XDP paths only.", path.Hold),
	}
	if slices.Contains(p.Paths, "gso") {
		notes = append(notes, "gso: segmentation offload (tx-udp-segmentation) of the sending veth is off and GRO of the receiving one on, so that single datagrams cross the link; the other paths run with both as a veth has them.")
	}
	if b := buffers(out.Buffers); b != "" {
		notes = append(notes, b)
	}
	notes = append(notes, warnings(s, r, busy)...)
	notes = append(notes, out.Notes...)
	for _, f := range out.Skipped {
		if f.Run > 1 {
			notes = append(notes, fmt.Sprintf("%s, %d bytes: run %d failed and the row shows those before it: %s", f.Path, f.Size, f.Run, f.Reason))
		}
	}
	return notes
}

// noisy is the share of a machine, in percent, beyond which whatever else runs
// on it shows in the figures.
const noisy = 5

// warnings tell what makes the figures doubtful.
func warnings(s, r control.Facts, busy float64) []string {
	var w []string
	if busy > noisy {
		w = append(w, fmt.Sprintf("WARNING: the machine was %.0f %% busy with other things before the bench began: expect worse and less steady figures.", busy))
	}
	if s.Machine == r.Machine && slices.Equal(s.Pinned, r.Pinned) {
		w = append(w, "WARNING: sender and receiver share one processor.")
	}
	return w
}

func list(cpus []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
}

// buffers tells what the socket paths got to receive into, once a size.
func buffers(all []report.Buffer) string {
	var parts []string
	seen := map[int]bool{}
	for _, b := range all {
		if !seen[b.Size] {
			seen[b.Size] = true
			parts = append(parts, fmt.Sprintf("%d of %d for %d-byte payloads", b.Got, b.Asked, b.Size))
		}
	}
	if parts == nil {
		return ""
	}
	return "Socket receive buffers, bytes got of bytes asked: " + strings.Join(parts, ", ") + "."
}
