// SPDX-License-Identifier: MIT

package referee

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/internal/testnet"
)

// faultPaths are those on which every loss must be accounted for.
var faultPaths = []string{"socket", "mmsg", "gso", "xdp"}

// window is how long the window of a fault lasts, and tail how long before its end
// some faults come.
const (
	faultWindow = 200 * time.Millisecond
	tail        = 50 * time.Millisecond
)

// A fault is something that goes wrong in a window.
type fault struct {
	hold   int                                   // datagrams that the receiver holds, 0 for the usual
	before func(t *testing.T, l *Local, rx *End) // the window opens
	during func(l *Local, rx *End) error         // from its opening on, beside it
	total  bool                                  // nothing may arrive
}

// after waits in a window.
func after(d time.Duration, f func(l *Local, rx *End) error) func(*Local, *End) error {
	return func(l *Local, rx *End) error {
		time.Sleep(d) // the window goes on meanwhile: its time is what counts
		return f(l, rx)
	}
}

func cutReceiver(l *Local, _ *End) error { return l.pair.B.SetUp(false) }
func cutSender(l *Local, _ *End) error   { return l.pair.A.SetUp(false) }

// flap takes a link down and up again.
func flap(e *testnet.End) error { return errors.Join(e.SetUp(false), e.SetUp(true)) }

func stopWorker(_ *Local, rx *End) error { return unix.Kill(rx.Facts.PID, unix.SIGSTOP) }

// TestFaults breaks something in a window of every path. What does not arrive is in
// a place that has a name, all of it.
func TestFaults(t *testing.T) {
	faults := map[string]fault{
		"receiver too small":             {hold: 64},
		"cut at receiver before the end": {during: after(faultWindow-tail, cutReceiver)},
		"cut at sender before the end":   {during: after(faultWindow-tail, cutSender)},
		"cut at receiver at the start": {total: true, before: func(t *testing.T, l *Local, rx *End) {
			if err := cutReceiver(l, rx); err != nil {
				t.Fatal(err)
			}
		}},
		"cut at sender at the start": {total: true, before: func(t *testing.T, l *Local, rx *End) {
			if err := cutSender(l, rx); err != nil {
				t.Fatal(err)
			}
		}},
		"receiver flaps": {during: after(tail, func(l *Local, _ *End) error { return flap(&l.pair.B) })},
		"sender flaps":   {during: after(tail, func(l *Local, _ *End) error { return flap(&l.pair.A) })},
		"receiver stopped for a while": {during: after(tail, func(l *Local, rx *End) error {
			err := stopWorker(l, rx)
			time.Sleep(tail)
			return errors.Join(err, unix.Kill(rx.Facts.PID, unix.SIGCONT))
		})},
		"receiver stopped beyond the end": {during: after(tail, func(l *Local, rx *End) error {
			err := stopWorker(l, rx)
			time.Sleep(faultWindow)
			return errors.Join(err, unix.Kill(rx.Facts.PID, unix.SIGCONT))
		})},
	}
	for name, f := range faults {
		for _, path := range faultPaths {
			t.Run(name+"/"+path, func(t *testing.T) { f.run(t, path) })
		}
	}
}

// run is one window with the fault in it.
func (f fault) run(t *testing.T, name string) {
	l := local(t)
	p := localPlan(name)
	p.Rows[0].Hold = f.hold
	r := &runner{plan: p, link: l, failed: map[report.Key]bool{}}
	step := p.Steps()[0]
	tx, rx, err := l.Ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := rx.prepare(question(r.plan.Test, step, "receiver", rx, tx)); err != nil {
		t.Fatal(err)
	}
	q := question(r.plan.Test, step, "sender", tx, rx)
	if err := tx.prepare(q); err != nil {
		t.Fatal(err)
	}
	if err := r.warmUp(t.Context(), step, r.plan.Test, tx, rx); err != nil {
		t.Fatal(err)
	}
	if f.before != nil {
		f.before(t, l, rx)
	}
	done := make(chan error, 1)
	go func() {
		if f.during == nil {
			done <- nil
			return
		}
		done <- f.during(l, rx)
	}()
	sent, got, err := r.open(tx, rx, faultWindow, 0)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	res, err := report.Compute(q, report.Side{Facts: tx.Facts, Totals: sent}, report.Side{Facts: rx.Facts, Totals: got}, p.Test.Count)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("sent %d, received %d, lost %v; counters of the sender %v, of the receiver %v", res.Sent, res.Received, res.Loss, sent.Lost, got.Lost)
	if res.Lost != res.Sent-res.Received || res.Loss.Sum() != res.Lost || res.Loss[loss.Unaccounted] > 0 {
		t.Errorf("lost %d of %d: %v", res.Lost, res.Sent, res.Loss)
	}
	if f.total && res.Received > 0 || !f.total && res.Received == 0 {
		t.Errorf("received %d", res.Received)
	}
}
