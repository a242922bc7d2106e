// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/suite"
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
	test, err := suite.Find(w.prepare.Test)
	if err != nil {
		return err
	}
	if err := test.Traffic(ctx, suite.Side{Prepare: w.prepare, Start: w.start, End: w.end, Totals: &w.totals}); err != nil {
		return err
	}
	after, err := w.read()
	if err != nil {
		return err
	}
	w.settle(before, after)
	return nil
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

// waiting is how many packets may wait for one neighbour: what unres_qlen_bytes, which
// is 208 KiB, holds of the smallest.
const waiting = 212992 / 256

// settle puts into the totals what the counters show more after the window.
func (w *window) settle(before, after reading) {
	t, b, a := &w.totals, before.gauges, after.gauges
	t.Machine = a.Machine.Since(b.Machine)
	t.User, t.System = a.User-b.User, a.System-b.System
	t.Info = w.end.Info()
	lost := after.lost.Since(before.lost)
	bundle := uint64(t.Info.Bundle)
	_, both := w.end.(path.Peer)
	if _, ok := w.end.(path.Crossfire); ok {
		both = true
	}
	if both || w.prepare.Role == control.RoleSender {
		lost = append(lost, loss.Count{Place: loss.DeviceTX, N: a.TXDropped - min(a.TXDropped, b.TXDropped), Each: bundle})
	}
	if both || w.prepare.Role == control.RoleSender {
		lost = append(lost, loss.Count{Place: loss.Neighbour, N: a.Unresolved - min(a.Unresolved, b.Unresolved)},
			loss.Count{Place: loss.Neighbour, N: a.Failed - min(a.Failed, b.Failed), Each: waiting})
	}
	lost = append(lost, loss.Count{Place: loss.LinkDown, N: a.Downs - min(a.Downs, b.Downs)})
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
