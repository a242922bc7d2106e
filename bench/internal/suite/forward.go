// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// forwardTest has the machine in the middle of three forward datagrams both ways at once.
func forwardTest() Test {
	return Test{
		Name: string(path.Cross), What: "three namespaces in a row, the middle one forwards both ways", Kind: path.Cross,
		Defaults: Defaults{Sizes: "64,512,1472", MTU: "1500"},
		Traffic:  forwardTraffic, Carried: bothWays, Count: countWays,
		Columns: forwardColumns, Notes: forwardNotes,
	}
}

// bothWays tells whether something came at either end.
func bothWays(a, c control.Totals) bool { return a.Tally.Received > 0 && c.Tally.Received > 0 }

// How long an end listens on: the other one may have begun later, and goes on until the
// kernel has made what it was asked for.
const (
	forwardQuiet = 60 * time.Millisecond
	forwardLook  = 5 * time.Millisecond
	forwardMost  = 2 * time.Second
)

func forwardTraffic(ctx context.Context, s Side) error {
	x, ok := s.End.(path.Crossfire)
	if !ok {
		return errNoTraffic(s)
	}
	run, t := s.Start.Run, s.Totals
	if err := x.Expect(run); err != nil {
		return err
	}
	sent, err := x.Generate(ctx, run, s.Start.Duration)
	t.Sent, t.Elapsed = sent.Datagrams, sent.Elapsed
	if err != nil {
		return err
	}
	if s.Prepare.Role == control.RoleReceiver {
		<-ctx.Done() // the sender is through
	}
	t.Tally.Received, err = quietened(x, run)
	return err
}

// quietened waits until nothing more comes, and returns how much has.
func quietened(x path.Crossfire, run uint32) (uint64, error) {
	var last uint64
	for begun, heard := time.Now(), time.Now(); ; time.Sleep(forwardLook) {
		n, err := x.Arrived(run)
		if err != nil {
			return n, err
		}
		if n != last {
			last, heard = n, time.Now()
		}
		if time.Since(heard) > forwardQuiet || time.Since(begun) > forwardMost {
			return n, nil
		}
	}
}

// countWays adds up both ways.
func countWays(_ control.Prepare, tx, rx report.Side) (report.Result, error) {
	a, c := tx.Totals, rx.Totals
	seconds := max(a.Elapsed, c.Elapsed).Seconds()
	ways := [2]report.Way{way(a.Sent, c.Tally.Received, seconds), way(c.Sent, a.Tally.Received, seconds)}
	for i, w := range ways {
		if w.Received > w.Sent {
			return report.Result{}, fmt.Errorf("way %d: %d datagrams of %d sent came", i, w.Received, w.Sent)
		}
	}
	return report.Result{
		Sent: ways[0].Sent + ways[1].Sent, Received: ways[0].Received + ways[1].Received, Seconds: seconds,
		TXSeconds: a.Elapsed.Seconds(), RXSeconds: c.Elapsed.Seconds(), Ways: &ways,
	}, nil
}

func way(sent, received uint64, seconds float64) report.Way {
	w := report.Way{Sent: sent, Received: received, Lost: sent - min(sent, received)}
	if seconds > 0 {
		w.RXPPS = float64(received) / seconds
	}
	return w
}

func forwardColumns() []report.Column {
	direction := func(i int, f func(report.Way) string) func(report.Row, []report.Row) string {
		return report.Of(func(m report.Result) string {
			if m.Ways == nil {
				return "-"
			}
			return f(m.Ways[i])
		})
	}
	rate := func(w report.Way) string { return report.Mpps(w.RXPPS) }
	share := func(w report.Way) string { return report.Percent(100 * float64(w.Lost) / float64(max(w.Sent, 1))) }
	return []report.Column{
		report.Words("mode", "", report.Of(func(m report.Result) string { return m.Mode })),
		report.Figure("sent", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.TXPPS) })),
		report.Figure("A to C", "Mpps", direction(0, rate)),
		report.Figure("lost", "%", direction(0, share)),
		report.Figure("C to A", "Mpps", direction(1, rate)),
		report.Figure("lost", "%", direction(1, share)),
		report.Figure("both", "Mpps", report.Of(func(m report.Result) string { return report.Mpps(m.RXPPS) })),
		report.Words("where", "", report.Of(where)),
		report.Figure("CPU", "%", report.Of(func(m report.Result) string { return fmt.Sprintf("%.0f", m.CPUUtil) })),
		report.Figure("demand", "µs/KB", report.Of(func(m report.Result) string { return report.Digits(m.ServiceDemand) })),
		report.Figure("times", "kernel", func(r report.Row, rows []report.Row) string {
			if b, ok := r.Find("kernel", rows); ok && b.Median().RXPPS > 0 {
				return fmt.Sprintf("%.2f", r.Median().RXPPS/b.Median().RXPPS)
			}
			return "-"
		}),
	}
}

func forwardNotes(p Plan, doc report.Document) []string {
	return []string{
		fmt.Sprintf("Three network namespaces in a row, joined by two veth pairs (MTU %s): A and C flood each other with UDP datagrams, and B between them forwards, both ways at once. kernel is routing by the kernel, xdp two AF_XDP sockets on one area of memory (a frame is sent where it was received), redirect XDP programs alone: the most that there can be.", words(p.MTUs())),
		"A and C make their datagrams in the kernel (BPF_PROG_TEST_RUN with live frames) and count what comes in an XDP program, which looks at headers, length and run, and reads no payload: as little work as can be, so that B is the limit.",
		"kernel and redirect forward in the soft interrupts of whoever sends, which slows the sender down: nothing is lost, and no further processor is used. xdp has a process for it, which the senders outrun: it must copy each frame out of a veth and into one, and what it does not get to is lost in its RX ring.",
		fmt.Sprintf("Each row is the run with the median rate of %d, each of %v after a warm-up of %v. Paths took turns.", p.Runs, p.Duration, p.Warmup),
		machine(doc.Env, "A", "C", "soft interrupts run on the CPU of who sends; the loops of xdp run on the other one, if there is one"),
		"CPU is of the whole machine; demand is busy CPU time for each 1,024 bytes that came, both ways. Lost under device tx drop is what a veth's ring of 256 frames had no room for, at any of the four interfaces.",
	}
}
