// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// receiverPatience is how much longer than the window a receiver waits to be
// told that the sender is done.
const receiverPatience = time.Minute

// A window is one run of traffic on an open path. Its goroutine owns all
// fields but cancel until done is closed, and nobody writes them after that.
type window struct {
	end     path.End
	prepare control.Prepare
	start   control.Start
	meter   Meter
	cancel  context.CancelFunc
	done    chan struct{}
	totals  control.Totals
	err     error
}

// begin reads all counters and starts the traffic. It returns when the window
// is open: what is sent from then on counts.
func begin(ctx context.Context, end path.End, p control.Prepare, st control.Start, meter Meter) (*window, error) {
	w := &window{end: end, prepare: p, start: st, meter: meter, done: make(chan struct{})}
	before, err := w.read()
	if err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithTimeout(ctx, st.Duration+receiverPatience)
	go func() {
		defer close(w.done)
		defer w.cancel()
		w.err = w.run(ctx, before)
	}()
	return w, nil
}

// ended tells whether the window's goroutine is through.
func (w *window) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// run moves the traffic and fills in the totals. A path that panics, as some
// libraries do when the kernel refuses something, ends its window and no more.
func (w *window) run(ctx context.Context, before reading) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the path panicked: %v", p)
		}
	}()
	w.totals.Run = w.start.Run
	if err := w.move(ctx); err != nil {
		return err
	}
	after, err := w.read()
	if err != nil {
		return err
	}
	w.settle(before, after)
	return nil
}

// move runs the side of the test that was prepared.
func (w *window) move(ctx context.Context) error {
	gen := stream.NewGenerator(w.prepare.Size, w.start.Run)
	check := stream.NewChecker(w.prepare.Size, w.start.Run)
	defer func() { w.totals.Tally = check.Tally() }()
	switch end := w.end.(type) {
	case path.Sender:
		return w.send(ctx, end, gen)
	case path.Receiver:
		elapsed, err := stream.Collect(ctx, end, check, w.prepare.Batch)
		w.totals.Elapsed = elapsed
		return err
	case path.Peer:
		if w.prepare.Role == control.RoleSender {
			return w.ping(ctx, end, gen, check)
		}
		return w.echo(ctx, end, check)
	default:
		return fmt.Errorf("path %s has no traffic to run", w.prepare.Path)
	}
}

func (w *window) send(ctx context.Context, s path.Sender, gen stream.Generator) error {
	sent, err := stream.Transmit(ctx, s, gen, w.prepare.Batch, w.start.Duration)
	w.totals.Sent, w.totals.Elapsed = sent.Datagrams, sent.Elapsed
	w.totals.Lost = append(w.totals.Lost, loss.Count{Place: loss.TXRing, N: sent.Left})
	return err
}

func (w *window) ping(ctx context.Context, p path.Peer, gen stream.Generator, check *stream.Checker) error {
	trips, err := rr.Ping(ctx, p, gen, check, w.start.Duration)
	w.totals.Sent, w.totals.Elapsed, w.totals.Latency = trips.Sent, trips.Elapsed, trips.Latency
	w.totals.Lost = append(w.totals.Lost, loss.Count{Place: loss.Late, N: check.Tally().Received - trips.Latency.Count})
	return err
}

func (w *window) echo(ctx context.Context, p path.Peer, check *stream.Checker) error {
	begun := time.Now()
	served, err := rr.Echo(ctx, p, check)
	w.totals.Sent, w.totals.Elapsed = served.Answered, time.Since(begun)
	w.totals.Lost = append(w.totals.Lost, loss.Count{Place: loss.Late, N: served.Late})
	return err
}

// A reading is what all counters showed at one moment.
type reading struct {
	lost   loss.Counts
	gauges Gauges
}

func (w *window) read() (r reading, err error) {
	if r.lost, err = w.end.Counters(); err != nil {
		return r, err
	}
	r.gauges, err = w.meter(w.prepare)
	return r, err
}

// settle puts into the totals what the counters show more after the window.
func (w *window) settle(before, after reading) {
	t, b, a := &w.totals, before.gauges, after.gauges
	t.Machine = a.Machine.Since(b.Machine)
	t.User, t.System = a.User-b.User, a.System-b.System
	t.Info = w.end.Info()
	lost := after.lost.Since(before.lost)
	bundle := uint64(t.Info.Bundle)
	both := w.prepare.Test == rr.Name
	if both || w.prepare.Role == control.RoleSender {
		lost = append(lost, loss.Count{Place: loss.DeviceTX, N: a.TXDropped - min(a.TXDropped, b.TXDropped), Each: bundle})
	}
	if both || w.prepare.Role == control.RoleReceiver {
		lost = merge(lost, loss.Count{Place: loss.Truncated, N: t.Tally.Truncated})
		lost = append(lost, loss.Count{Place: loss.Corrupt, N: t.Tally.Corrupt})
		lost = append(lost, loss.Count{Place: loss.DeviceRX, N: deviceRX(b, a, lost), Each: bundle})
	}
	t.Lost = append(t.Lost, lost...)
}

// deviceRX is what the interface dropped on arrival. Drivers count there too
// what an AF_XDP socket on it could not take, which is counted already.
func deviceRX(before, after Gauges, lost loss.Counts) uint64 {
	n := after.RXDropped - min(after.RXDropped, before.RXDropped)
	for _, p := range []loss.Place{loss.RXRing, loss.FillRing, loss.RXDropped} {
		n -= min(n, lost.Get(p))
	}
	return n
}

// merge adds c to the counter of its place, or appends it.
func merge(counts loss.Counts, c loss.Count) loss.Counts {
	for i := range counts {
		if counts[i].Place == c.Place {
			counts[i].N += c.N
			return counts
		}
	}
	return append(counts, c)
}
