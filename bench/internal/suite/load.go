// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// loadTest floods receivers by a generator in the kernel, which no receiver keeps up
// with: it shows what each can take.
func loadTest() Test {
	return Test{
		Name: string(path.Load), What: "receivers under a generator in the kernel", Kind: path.Load,
		Defaults: Defaults{Paths: "socket,mmsg,packet,xdp", Sizes: "64,1472", MTU: "1500", Batch: 64},
		Traffic:  loadTraffic, Carried: arrived, Count: report.OneWay,
		Columns: streamColumns, Notes: loadNotes,
	}
}

func loadTraffic(ctx context.Context, s Side) error {
	g, ok := s.End.(path.Generator)
	if !ok {
		return streamTraffic(ctx, s)
	}
	sent, err := g.Generate(ctx, s.Start.Run, s.Start.Duration)
	s.Totals.Sent, s.Totals.Elapsed = sent.Datagrams, sent.Elapsed
	return err
}

func loadNotes(p Plan, doc report.Document) []string {
	notes := []string{
		fmt.Sprintf("UDP datagrams one way over a %s (MTU %s), sent by the kernel itself (BPF_PROG_TEST_RUN with live frames, numbered by an XDP program): the paths differ in the receiver only, and the receiver is the limit. Sent is what the generator made; nobody copies a payload to send it.", doc.Env.Link, words(p.MTUs())),
		fmt.Sprintf("Each row is the run with the median receive rate of %d, each of %v after a warm-up of %v; min..max is of the receive rate. Paths took turns.", p.Runs, p.Duration, p.Warmup),
		machine(doc.Env, "Generator", "receiver", "soft interrupts run on the generator's CPU, so that it slows down with the work that a receiver leaves to them"),
		"A veth takes such frames only where it has NAPI: GRO of the receiving one is on, on all paths. Device tx drop is its ring of 256 frames, full.",
		fmt.Sprintf("Receivers check every payload byte, and can hold %d datagrams unread.", path.Hold),
	}
	if slices.Contains(p.Paths(), "gso") {
		notes = append(notes, "gso: the receiver takes bundles (UDP_GRO) as far as NAPI makes some.")
	}
	if b := buffers(doc.Env.Buffers); b != "" {
		notes = append(notes, b)
	}
	return notes
}
