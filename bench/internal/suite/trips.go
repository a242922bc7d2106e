// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// tripTest times round trips.
func tripTest() Test {
	return Test{
		Name: rr.Name, What: "round trips, one datagram under way at a time", Kind: path.Trips,
		Defaults: Defaults{Sizes: "64", MTU: "1500"},
		Traffic:  tripTraffic, Count: countTrips,
		Carried: func(sent, _ control.Totals) bool { return sent.Latency.Count > 0 }, // all the way
		Columns: tripColumns, Notes: tripNotes,
	}
}

func tripTraffic(ctx context.Context, s Side) error {
	p, ok := s.End.(path.Peer)
	if !ok {
		return errNoTraffic(s)
	}
	check := stream.NewChecker(s.Prepare.Size, s.Start.Run)
	defer func() { s.Totals.Tally = check.Tally() }()
	if s.Prepare.Role == control.RoleSender {
		return ping(ctx, p, s, check)
	}
	return echo(ctx, p, s, check)
}

func ping(ctx context.Context, p path.Peer, s Side, check *stream.Checker) error {
	t := s.Totals
	gen := stream.NewGenerator(s.Prepare.Size, s.Start.Run)
	trips, err := rr.Ping(ctx, p, gen, check, s.Start.Duration)
	t.Sent, t.Elapsed, t.Latency = trips.Sent, trips.Elapsed, trips.Latency
	t.Lost = append(t.Lost, loss.Count{Place: loss.Late, N: check.Tally().Received - trips.Latency.Count})
	s.refused(trips.Refused, trips.Why)
	return err
}

func echo(ctx context.Context, p path.Peer, s Side, check *stream.Checker) error {
	t, begun := s.Totals, time.Now()
	served, err := rr.Echo(ctx, p, check)
	t.Sent, t.Elapsed = served.Answered, time.Since(begun)
	t.Lost = append(t.Lost, loss.Count{Place: loss.Late, N: served.Late}, loss.Count{Place: loss.Send, N: served.Refused})
	s.refused(served.Refused, served.Why)
	return err
}

// countTrips counts requests as sent, and answers that came in time as received.
// The time is the client's: the server's window is longer, it only waits at its end.
func countTrips(_ control.Prepare, client, server report.Side) (report.Result, error) {
	tx, rx := client.Totals, server.Totals
	r := report.Result{
		Sent: tx.Sent, Received: tx.Latency.Count, Seconds: tx.Elapsed.Seconds(), Latency: latency(tx.Latency),
		Duplicated: rx.Tally.Duplicated + tx.Tally.Duplicated, Reordered: rx.Tally.Reordered + tx.Tally.Reordered,
	}
	// What was answered was asked, and each thing once but for duplicates.
	if got := tx.Tally.Received; got < r.Received || got > rx.Sent || rx.Tally.Received > r.Sent {
		return r, fmt.Errorf("%d requests, of which %d came, and %d answers, of which %d came, %d in time",
			r.Sent, rx.Tally.Received, rx.Sent, got, r.Received)
	}
	return r, nil
}

// latency is l in microseconds.
func latency(l rr.Latency) *report.Latency {
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	out := &report.Latency{P50: us(l.P50), P90: us(l.P90), P99: us(l.P99), P999: us(l.P999), Max: us(l.Max)}
	for _, p := range l.Percentiles {
		out.Percentiles = append(out.Percentiles, report.Percentile{Percent: p.Percent, Micros: us(p.Time)})
	}
	return out
}

func tripNotes(p Plan, doc report.Document) []string {
	notes := []string{
		fmt.Sprintf("Round trips of UDP datagrams, one under way at a time, over a %s (MTU %s): a client sends, a server sends back, and the client times it from before its send call to after its receive call. %s", doc.Env.Link, words(p.MTUs()), onVeth(doc.Env)),
		"The loop is closed: the next request leaves when the last answer is there. No request waits for another, so none is omitted; but a pause of the machine shows as one long trip, and not as all those that a fixed rate would have had in it. Read the tails that way.",
		fmt.Sprintf("Times are from HDR histograms, of three digits. Each figure is the median of %s of %v after a warm-up of %v; max is the longest trip of all runs, lost the sum of all, min..max is of the runs' p50. Paths took turns.", runs(p), p.Duration, p.Warmup),
		machine(doc.Env, "Client", "server", "soft interrupts run on the CPU of whoever sends"),
		"CPU is of the whole machine: what is not idle, by /proc/stat in ticks of 10 ms. Who spins takes a whole CPU at each end, whatever else could use it.",
		"Who waits how: socket and udpconn sleep in the kernel, asavie in poll, xdp-block too. socket-spin and xdp-busy never sleep. xdp, xdp-packetconn and xdp-raw are adaptive, as their library is by default: they spin while that pays, and sleep when it does not. Compare what sleeps with what sleeps, and what spins with what spins.",
		"Both ends write or read every payload byte on every path. " + sums(doc.Env) + " XDP programs are attached, at both ends, for the runs of AF_XDP paths only.",
		fmt.Sprintf("An answer that has not come after %v is lost; what is lost is in no time.", rr.Timeout),
	}
	if l := losses(doc.Results); l != "" {
		notes = append(notes, l)
	}
	return notes
}

// losses tells where round trips got lost, in all runs.
func losses(results []report.Result) string {
	var rows []string
	sums := map[string]loss.Split{}
	for _, r := range results {
		row := r.Key().String()
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
