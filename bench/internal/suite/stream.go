// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// streamTest sends datagrams one way, as fast as they go.
func streamTest() Test {
	return Test{
		Name: stream.Name, What: "datagrams one way, as fast as they go", Kind: path.Stream,
		Defaults: Defaults{Sizes: "64,1472", MTU: "1500", Batch: 64},
		Traffic:  streamTraffic, Carried: arrived, Count: report.OneWay,
		Columns: streamColumns, Notes: streamNotes,
	}
}

// arrived tells whether any datagram reached the receiver.
func arrived(_, got control.Totals) bool { return got.Tally.Received > 0 }

func streamTraffic(ctx context.Context, s Side) error {
	if tx, ok := s.End.(path.Sender); ok {
		gen := stream.NewGenerator(s.Prepare.Size, s.Start.Run)
		sent, err := stream.Transmit(ctx, tx, gen, s.Prepare.Batch, s.Start.Duration)
		s.Totals.Sent, s.Totals.Elapsed = sent.Datagrams, sent.Elapsed
		s.Totals.Lost = append(s.Totals.Lost, loss.Count{Place: loss.TXRing, N: sent.Left})
		s.refused(sent.Refused, sent.Why)
		return err
	}
	rx, ok := s.End.(path.Receiver)
	if !ok {
		return errNoTraffic(s)
	}
	check := stream.NewChecker(s.Prepare.Size, s.Start.Run)
	elapsed, err := stream.Collect(ctx, rx, check, s.Prepare.Batch)
	s.Totals.Elapsed, s.Totals.Tally = elapsed, check.Tally()
	return err
}

// errNoTraffic is of a path that opened what its test does not drive.
func errNoTraffic(s Side) error {
	return fmt.Errorf("path %s has no traffic for %s to run", s.Prepare.Path, s.Prepare.Test)
}

// gsoNotes are for tests that the path gso may take part in. On an interface that
// the bench did not make, the path says itself what it found.
func gsoNotes(p Plan, env report.Env) []string {
	if !slices.Contains(p.Paths(), "gso") || env.Peer != "" {
		return nil
	}
	return []string{"gso: segmentation offload (tx-udp-segmentation) of the sending veth is off and GRO of the receiving one on, so that single datagrams cross the link; the other paths run with both as a veth has them."}
}

// runs tells how many runs a row has.
func runs(p Plan) string {
	if p.Runs == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs, each", p.Runs)
}

func streamNotes(p Plan, doc report.Document) []string {
	notes := []string{
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %s). %sWhere nothing is lost the sender is the limit, where much is lost the receiver.", doc.Env.Link, words(p.MTUs()), onVeth(doc.Env)),
		fmt.Sprintf("Each row is the run with the median receive rate of %s of %v after a warm-up of %v; min..max is of the receive rate. Paths took turns.", runs(p), p.Duration, p.Warmup),
		machine(doc.Env, "Sender", "receiver", "soft interrupts run on the sender's CPU"),
		"CPU is of the whole machine: what is not idle, by /proc/stat in ticks of 10 ms; demand is netperf's service demand: busy CPU time for each 1,024 bytes received.",
		"Sender and receiver touch every payload byte on every path. " + sums(doc.Env),
		fmt.Sprintf("Every path can hold %d datagrams unread. Socket receivers block in their call, asavie in poll, xdp waits as its library does by default. XDP programs are attached for the runs of AF_XDP paths only.", path.Hold),
	}
	notes = append(notes, gsoNotes(p, doc.Env)...)
	notes = append(notes, pathNotes(p.Paths())...)
	if slices.ContainsFunc(p.Rows, func(r control.Row) bool { return r.Size > r.MTU-headers }) {
		notes = append(notes, "Datagrams over the MTU go in IP fragments, by the kernel's stack on every path that has them at all: xdp hands them to its companion socket. Every path can hold as many fragments unread as it could hold datagrams, and a datagram is lost if one of its fragments is.")
	}
	if b := buffers(doc.Env.Buffers); b != "" {
		notes = append(notes, b)
	}
	return notes
}

// onVeth tells what a veth cannot do, where the link is one.
func onVeth(env report.Env) string {
	if env.Peer != "" {
		return ""
	}
	return "A veth is never zero-copy: AF_XDP copies here. "
}

// pathNotes explain paths that one might take for something else.
func pathNotes(paths []string) []string {
	var notes []string
	for _, n := range []struct{ path, text string }{
		{"gso-veth", "gso-veth: as gso, but with the offloads as a veth has them: the bundle crosses the link as one packet of up to 64 datagrams, which no wire could carry. No figure for a network."},
		{"packet", "packet: frames to and from packet sockets, sent past the queueing discipline (PACKET_QDISC_BYPASS) and received from a ring of blocks (TPACKET_V3). The stack sees every datagram too, which a socket with a filter drops: that time is in the figures, as it is in any program that does so."},
	} {
		if slices.Contains(paths, n.path) {
			notes = append(notes, n.text)
		}
	}
	return notes
}
