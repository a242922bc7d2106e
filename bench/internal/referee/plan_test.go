// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/bench/internal/suite"
	"github.com/xdpath/xdpath/bench/internal/worker"
)

// A bridge is a Link of two workers in this process. Each path is a wire of
// that name.
type bridge struct {
	t       *testing.T
	wires   map[string]*pathtest.Wire
	lines   map[string]*pathtest.Line
	ends    [2]*End
	started int
	workers sync.WaitGroup
	prepare func(p control.Prepare) // sees every question to prepare
	mostMTU int                     // 0: any
}

func newBridge(t *testing.T, names ...string) *bridge {
	b := &bridge{t: t, wires: map[string]*pathtest.Wire{}, prepare: func(control.Prepare) {}}
	for _, n := range names {
		b.wires[n] = pathtest.NewWire(64, 8)
	}
	t.Cleanup(func() {
		for _, e := range b.ends {
			if e != nil {
				_ = e.Hangup()
			}
		}
		b.workers.Wait()
	})
	return b
}

func (b *bridge) Ends(context.Context) (tx, rx *End, err error) {
	for i := range b.ends {
		if b.ends[i] != nil && !b.ends[i].Broken() {
			continue
		}
		if b.ends[i] != nil {
			_ = b.ends[i].Hangup()
		}
		if b.ends[i], err = b.start(i); err != nil {
			return nil, nil, err
		}
	}
	return b.ends[0], b.ends[1], nil
}

func (b *bridge) start(i int) (*End, error) {
	b.started++
	ours, theirs := net.Pipe()
	var tick uint64
	cfg := worker.Config{
		Facts: control.Facts{Machine: "test", CPUs: 2, Pinned: []int{i}},
		Open: func(_ context.Context, p control.Prepare) (path.End, error) {
			b.prepare(p)
			w, l := b.wires[p.Path], b.lines[p.Path]
			switch {
			case l != nil && p.Role == control.RoleSender:
				return l.Client(), nil
			case l != nil:
				return l.Server(), nil
			case w == nil:
				return nil, pathtest.ErrNoPath
			case p.Role == control.RoleSender:
				return w.Sender(), nil
			default:
				return w.Receiver(), nil
			}
		},
		Meter: func(control.Prepare) (worker.Gauges, error) {
			tick++
			return worker.Gauges{Machine: cpu.Times{User: tick, Idle: tick, CPUs: 2}}, nil
		},
	}
	b.workers.Go(func() {
		if err := worker.Serve(control.NewConn(theirs), cfg); err != nil {
			b.t.Log("worker:", err)
		}
	})
	e := NewEnd(control.NewConn(ours), "x", netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), net.HardwareAddr{2, 0, 0, 0, 0, byte(i)})
	return e, e.Greet()
}

func plan(paths ...string) suite.Plan { return planOf(stream.Name, 8, paths...) }

// planOf is a plan of one size.
func planOf(test string, batch int, paths ...string) suite.Plan {
	p := suite.Plan{Duration: 20 * time.Millisecond, Warmup: 5 * time.Millisecond, Runs: 2, Patience: 50 * time.Millisecond}
	p.Test, _ = suite.Find(test)
	p.Rows = suite.Common{Paths: paths, Sizes: []int{64}, MTUs: []int{1500}, Batch: batch}.Product()
	return p
}

func quiet(int, suite.Step) {}

// Ready has nothing to set.
func (b *bridge) Ready(row control.Row) error {
	if row.MTU > b.mostMTU && b.mostMTU > 0 {
		return errMTU
	}
	return nil
}

var errMTU = errors.New("no such MTU")

func TestRun(t *testing.T) {
	b := newBridge(t, "good", "lossy")
	b.wires["lossy"].DropNth = 3
	b.wires["lossy"].HideNth = 100
	b.wires["lossy"].Mode = "native copy"
	var steps []suite.Step
	out, err := Run(t.Context(), plan("good", "lossy"), b, func(done int, next suite.Step) {
		if done != len(steps) {
			t.Errorf("%d steps done, want %d", done, len(steps))
		}
		steps = append(steps, next)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Results) != 4 || len(steps) != 4 || len(out.Skipped) != 0 || len(out.ProcessCPU) != 4 {
		t.Fatalf("%d results, %d steps, skipped %v", len(out.Results), len(steps), out.Skipped)
	}
	for i, r := range out.Results {
		if r.Key() != steps[i].Key() || r.Run != steps[i].Run {
			t.Errorf("result of %s run %d, step %v", r.Path, r.Run, steps[i])
		}
		if r.Sent == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost || r.CPUUtil != 50 {
			t.Errorf("%+v", r)
		}
		if r.Path == "lossy" && (r.Loss[loss.Socket] == 0 || r.Loss[loss.Unaccounted] == 0 || r.Mode != "native copy") {
			t.Errorf("lossy: %+v", r)
		}
	}
	if b.started != 2 {
		t.Errorf("%d workers started", b.started)
	}
	for name, w := range b.wires {
		if w.Closed() != 4 {
			t.Errorf("%s: %d ends closed, want 4", name, w.Closed())
		}
	}
}

// TestRunQuestions checks what the two ends are told of each other.
func TestRunQuestions(t *testing.T) {
	b := newBridge(t, "good")
	var got []control.Prepare
	b.prepare = func(p control.Prepare) { got = append(got, p) }
	p := plan("good")
	p.Runs = 1
	if _, err := Run(t.Context(), p, b, quiet); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Role != control.RoleReceiver || got[1].Role != control.RoleSender {
		t.Fatalf("the receiver must open first: %+v", got)
	}
	rx, tx := got[0], got[1]
	if rx.Local != tx.Peer || tx.Local != rx.Peer || rx.LocalMAC != tx.PeerMAC || tx.LocalMAC != rx.PeerMAC || rx.Local == tx.Local {
		t.Errorf("receiver %+v, sender %+v", rx, tx)
	}
}

func TestRunGoesOn(t *testing.T) {
	b := newBridge(t, "good", "panicking")
	b.wires["panicking"].Panic = "errno 100"
	out, err := Run(t.Context(), plan("missing", "good", "panicking"), b, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Results) != 2 || out.Results[0].Path != "good" {
		t.Errorf("results %+v", out.Results)
	}
	// A path that did not open has used its worker up.
	if b.started != 3 {
		t.Errorf("%d workers started, want 3", b.started)
	}
	// Each is tried once, not in every run.
	want := map[string]string{"missing": "no such path", "panicking": "panicked"}
	if len(out.Skipped) != len(want) {
		t.Errorf("skipped %+v", out.Skipped)
	}
	for _, s := range out.Skipped {
		if !strings.Contains(s.Reason, want[s.Path]) || s.Run != 1 {
			t.Errorf("skipped %+v, want %q", s, want[s.Path])
		}
	}
}

// TestRunMTU has a row whose MTU the wire cannot have.
func TestRunMTU(t *testing.T) {
	b := newBridge(t, "good")
	b.mostMTU = 1500
	p := plan("good")
	jumbo := p.Rows[0]
	jumbo.MTU, jumbo.Param = 9000, "mtu=9000"
	p.Rows = append(p.Rows, jumbo)
	var asked []int
	b.prepare = func(p control.Prepare) { asked = append(asked, p.MTU) }
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Results) != 2 || len(out.Skipped) != 1 || len(asked) != 4 {
		t.Fatalf("%v: %+v, asked for MTUs %v", err, out, asked)
	}
	if s := out.Skipped[0]; s.Key != suite.Key(jumbo) || s.Reason != errMTU.Error() {
		t.Errorf("skipped %+v", s)
	}
}

// TestRunLateTraffic has a link that carries nothing at first: the dead time is
// told and not averaged in.
func TestRunLateTraffic(t *testing.T) {
	b := newBridge(t, "late")
	w := b.wires["late"]
	w.HideNth = 1 // everything
	const dead = 300 * time.Millisecond
	p := plan("late")
	p.Runs, p.Patience = 1, 20*dead
	time.AfterFunc(dead, func() { w.Set(func(w *pathtest.Wire) { w.HideNth = 0 }) })
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Results) != 1 {
		t.Fatalf("%v: %+v", err, out)
	}
	if r := out.Results[0]; r.Received == 0 || r.Loss[loss.Unaccounted] != 0 || r.Seconds > dead.Seconds() {
		t.Errorf("%+v", r)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "carried nothing for the first") {
		t.Errorf("notes %q", out.Notes)
	}
}

// TestRunOneShot has a path after which a worker is used up.
func TestRunOneShot(t *testing.T) {
	b := newBridge(t, "once", "good")
	b.wires["once"].OneShot = true
	out, err := Run(t.Context(), plan("once", "good"), b, quiet)
	if err != nil || len(out.Results) != 4 {
		t.Fatalf("%v: %+v", err, out)
	}
	if b.started != 6 {
		t.Errorf("%d workers started, want 2, and 2 after each of 2 runs", b.started)
	}
}

// TestRunWorkerDies loses a worker when it is asked to open a path: that path
// is a row with the reason, and the next one has a new worker.
func TestRunWorkerDies(t *testing.T) {
	b := newBridge(t, "deadly", "good")
	b.prepare = func(p control.Prepare) {
		if p.Path == "deadly" && p.Role == control.RoleSender {
			_ = b.ends[0].Hangup()
		}
	}
	out, err := Run(t.Context(), plan("deadly", "good"), b, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Results) != 2 || len(out.Skipped) != 1 || out.Skipped[0].Path != "deadly" {
		t.Errorf("results %+v, skipped %+v", out.Results, out.Skipped)
	}
	if b.started != 3 {
		t.Errorf("%d workers started, want 3", b.started)
	}
}

// TestRunReceiverDies loses the receiver in a long window: nobody waits for the
// end of that.
func TestRunReceiverDies(t *testing.T) {
	b := newBridge(t, "good")
	p := plan("good")
	p.Runs, p.Duration = 1, 9*time.Minute
	time.AfterFunc(200*time.Millisecond, func() { _ = b.ends[1].Hangup() })
	begun := time.Now()
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Skipped) != 1 || !strings.Contains(out.Skipped[0].Reason, "receiver: the worker is gone") {
		t.Errorf("%v: %+v", err, out)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestRunInterrupted(t *testing.T) {
	b := newBridge(t, "good")
	p := plan("good")
	p.Duration = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, func() {
		cancel()
		for _, e := range b.ends {
			_ = e.Hangup() // as Local does
		}
	})
	begun := time.Now()
	if _, err := Run(ctx, p, b, quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
