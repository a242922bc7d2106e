// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/rr"
)

// notes are the sentences beneath the table: first how the test was done.
func notes(opts options, out referee.Outcome, busy float64) []string {
	var notes []string
	if opts.plan.Test == rr.Name {
		notes = tripNotes(opts.plan, out)
	} else {
		notes = streamNotes(opts.plan, out)
	}
	notes = append(notes, warnings(out.Sender, out.Receiver, busy)...)
	notes = append(notes, out.Notes...)
	for _, f := range out.Skipped {
		if f.Run > 1 {
			notes = append(notes, fmt.Sprintf("%s, %d bytes: run %d failed and the row shows those before it: %s", f.Path, f.Size, f.Run, f.Reason))
		}
	}
	return notes
}

func streamNotes(p referee.Plan, out referee.Outcome) []string {
	notes := []string{
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %d). A veth is never zero-copy: AF_XDP copies here. Where nothing is lost the sender is the limit, where much is lost the receiver.", link, p.MTU),
		fmt.Sprintf("Each row is the run with the median receive rate of %d, each of %v after a warm-up of %v; min..max is of the receive rate. Paths took turns.", p.Runs, p.Duration, p.Warmup),
		machine(out, "Sender", "receiver", "soft interrupts run on the sender's CPU"),
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
	return notes
}

func tripNotes(p referee.Plan, out referee.Outcome) []string {
	notes := []string{
		fmt.Sprintf("Round trips of UDP datagrams, one under way at a time, over a %s (MTU %d): a client sends, a server sends back, and the client times it from before its send call to after its receive call. Zero-copy there is none.", link, p.MTU),
		"The loop is closed: the next request leaves when the last answer is there. No request waits for another, so none is omitted; but a pause of the machine shows as one long trip, and not as all those that a fixed rate would have had in it. Read the tails that way.",
		fmt.Sprintf("Times are from HDR histograms, of three digits. Each figure is the median of %d runs, each of %v after a warm-up of %v; max is the longest trip of all runs, lost the sum of all, min..max is of the runs' p50. Paths took turns.", p.Runs, p.Duration, p.Warmup),
		machine(out, "Client", "server", "soft interrupts run on the CPU of whoever sends"),
		"CPU is of the whole machine, from /proc/stat in ticks of 10 ms. Who spins takes a whole CPU at each end, whatever else could use it.",
		"Who waits how: socket and udpconn sleep in the kernel, asavie in poll, xdp-block too. socket-spin and xdp-busy never sleep. xdp, xdp-packetconn and xdp-raw are adaptive, as their library is by default: they spin while that pays, and sleep when it does not. Compare what sleeps with what sleeps, and what spins with what spins.",
		"Both ends write or read every payload byte on every path. UDP checksums: sockets leave them to a veth, the AF_XDP paths send none. XDP programs are attached, at both ends, for the runs of AF_XDP paths only.",
		fmt.Sprintf("An answer that has not come after %v is lost; what is lost is in no time.", rr.Timeout),
	}
	if l := losses(out.Results); l != "" {
		notes = append(notes, l)
	}
	return notes
}

// losses tells where round trips got lost, in all runs.
func losses(results []report.Result) string {
	var rows []string
	sums := map[string]loss.Split{}
	for _, r := range results {
		row := fmt.Sprintf("%s, %d bytes", r.Path, r.Size)
		if r.Lost > 0 && sums[row] == nil {
			rows, sums[row] = append(rows, row), loss.Split{}
		}
		for place, n := range r.Loss {
			sums[row][place] += n
		}
	}
	var parts []string
	for _, row := range rows {
		for _, place := range loss.Places() {
			if n := sums[row][place]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s: %d %s", row, n, place))
			}
		}
	}
	if parts == nil {
		return ""
	}
	return "Lost: " + strings.Join(parts, "; ") + "."
}

// machine says what ran where.
func machine(out referee.Outcome, tx, rx, interrupts string) string {
	s, r := out.Sender, out.Receiver
	return fmt.Sprintf("Linux %s, %s, %s, %d CPUs. %s on CPU %s, %s on CPU %s, GOMAXPROCS %d and %d; %s.",
		s.Kernel, s.Go, s.CPUModel, s.CPUs, tx, list(s.Pinned), rx, list(r.Pinned), s.GOMAXPROCS, r.GOMAXPROCS, interrupts)
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
