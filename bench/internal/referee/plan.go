// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// An Outcome is what came of a plan.
type Outcome struct {
	Results          []report.Result
	Skipped          []report.Skip
	Buffers          []report.Buffer
	ProcessCPU       []report.ProcessCPU
	Notes            []string // of the paths, each once
	Sender, Receiver control.Facts
}

// Run works through the plan. A step that fails is noted and the plan goes on;
// an error means that it cannot, or that ctx is done, and comes with what there
// is so far. Before each step it calls progress with the number of steps done.
func Run(ctx context.Context, plan suite.Plan, link Link, progress func(done int, next suite.Step)) (Outcome, error) {
	r := &runner{plan: plan, link: link, failed: map[report.Key]bool{}}
	for i, step := range plan.Steps() {
		progress(i, step)
		if err := r.step(ctx, step); err != nil {
			return r.out, err
		}
	}
	return r.out, nil
}

// A runner is the state of one Run.
type runner struct {
	plan   suite.Plan
	link   Link
	out    Outcome
	failed map[report.Key]bool // not to be tried again
	number uint32              // of the last window
}

// step runs one step and files what came of it.
func (r *runner) step(ctx context.Context, step suite.Step) error {
	key := step.Key()
	if r.failed[key] {
		return nil
	}
	tx, rx, err := r.link.Ends(ctx)
	if err != nil {
		return err
	}
	r.out.Sender, r.out.Receiver = tx.Facts, rx.Facts
	if err = r.link.Ready(step.Row); err == nil {
		err = r.measure(ctx, step, tx, rx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.failed[key] = true
		r.out.Skipped = append(r.out.Skipped, report.Skip{Key: key, Run: step.Run, Reason: err.Error()})
	}
	return nil
}

// measure runs one step: its traffic, and that of the test of latencies, if it has one.
func (r *runner) measure(ctx context.Context, step suite.Step, tx, rx *End) error {
	test := r.plan.Test
	m, err := r.traffic(ctx, step, test, tx, rx)
	if err != nil {
		return err
	}
	result := m.result
	if test.Latency != "" {
		if err := r.latency(ctx, step, &result); err != nil {
			return fmt.Errorf("%s: %w", test.Latency, err)
		}
	}
	result.Run = step.Run
	r.out.Results = append(r.out.Results, result)
	r.file(step, m.sent, m.got)
	return nil
}

// latency fills in what round trips over the same row take.
func (r *runner) latency(ctx context.Context, step suite.Step, result *report.Result) error {
	test, err := suite.Find(r.plan.Test.Latency)
	if err != nil {
		return err
	}
	tx, rx, err := r.link.Ends(ctx) // others, if the path took those with it
	if err != nil {
		return err
	}
	m, err := r.traffic(ctx, step, test, tx, rx)
	result.Latency = m.result.Latency
	return err
}

// Ports of the two ends. Every run has the same: the run number in each
// datagram keeps them apart.
const (
	senderPort   = 9001
	receiverPort = 9002
	crossPort    = 9003 // of both, where both send
)

func question(test suite.Test, step suite.Step, role control.Role, own, other *End) control.Prepare {
	ports := [2]uint16{senderPort, receiverPort}
	if role == control.RoleReceiver {
		ports = [2]uint16{receiverPort, senderPort}
	}
	if test.Kind == path.Cross {
		ports = [2]uint16{crossPort, crossPort}
	}
	hop := own.NextHop
	if hop == nil {
		hop = other.MAC
	}
	return control.Prepare{
		Test: test.Name, Role: role, Row: step.Row,
		Interface: own.Interface, Local: own.addr(ports[0]), Peer: other.addr(ports[1]),
		LocalMAC: own.MAC.String(), PeerMAC: hop.String(), Keep: own.Keep,
	}
}

// warmUp runs windows that do not count, until one of them carried something.
// Some links are dead for a while after a program was attached: that time must
// not go into an average.
func (r *runner) warmUp(ctx context.Context, step suite.Step, test suite.Test, tx, rx *End) error {
	begun := time.Now()
	for try := 1; ; try++ {
		sent, got, err := r.open(tx, rx, r.plan.Warmup, step.Rate)
		if err == nil && test.Carried(sent, got) {
			if try > 1 {
				r.note(fmt.Sprintf("%s, run %d: the link carried nothing for the first %.1f s, which are not counted",
					step.Key(), step.Run, time.Since(begun).Seconds()))
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		late := time.Since(begun) > r.plan.Patience
		switch {
		case err != nil && (late || !isAnswer(err)):
			return err
		case err == nil && late:
			return fmt.Errorf("nothing of %d datagrams arrived", sent.Sent)
		}
	}
}

// open runs one window and returns the totals of both sides.
func (r *runner) open(tx, rx *End, d time.Duration, rate float64) (sent, got control.Totals, err error) {
	r.number++
	start := control.Start{Run: r.number, Duration: d, Rate: rate}
	if err := rx.start(start); err != nil {
		return sent, got, fmt.Errorf("receiver: %w", err)
	}
	if err := tx.start(start); err != nil {
		return sent, got, fmt.Errorf("sender: %w", err)
	}
	var txErr error
	rx.guard(tx, func() { sent, txErr = tx.totals(d) })
	// The receiver must leave the window whatever became of the sender.
	if err := rx.stop(); err != nil {
		return sent, got, fmt.Errorf("receiver: %w", err)
	}
	got, rxErr := rx.totals(0)
	switch {
	case txErr != nil:
		return sent, got, fmt.Errorf("sender: %w", txErr)
	case rxErr != nil:
		return sent, got, fmt.Errorf("receiver: %w", rxErr)
	case sent.Run != start.Run || got.Run != start.Run:
		return sent, got, fmt.Errorf("totals of windows %d and %d, want %d", sent.Run, got.Run, start.Run)
	}
	return sent, got, nil
}

// file keeps what a run told beside its result.
func (r *runner) file(step suite.Step, sent, got control.Totals) {
	share := func(t control.Totals) float64 {
		return 100 * (t.User + t.System).Seconds() / max(t.Elapsed.Seconds(), 1e-9)
	}
	r.out.ProcessCPU = append(r.out.ProcessCPU, report.ProcessCPU{
		Key: step.Key(), Run: step.Run, Sender: share(sent), Receiver: share(got),
	})
	if got.Info.BufferAsked > 0 && step.Run == 1 {
		r.out.Buffers = append(r.out.Buffers, report.Buffer{
			Key: step.Key(), Asked: got.Info.BufferAsked, Got: got.Info.BufferGot,
		})
	}
	for _, t := range []control.Totals{sent, got} {
		if t.Refused > 0 {
			r.note(fmt.Sprintf("%s, run %d: sending was refused %d times, a millisecond apart: %s", step.Key(), step.Run, t.Refused, t.Why))
		}
	}
	for _, n := range append(sent.Info.Notes, got.Info.Notes...) {
		r.note(step.Path + ": " + n)
	}
}

func (r *runner) note(n string) {
	for _, have := range r.out.Notes {
		if have == n {
			return
		}
	}
	r.out.Notes = append(r.out.Notes, n)
}
