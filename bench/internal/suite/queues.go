// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// queuesTest has a stream on each of several queues.
func queuesTest() Test {
	return Test{
		Name: string(path.Queues), What: "a stream on each of several queues", Kind: path.Queues,
		Defaults: Defaults{Sizes: "64", MTU: "1500", Batch: 64},
		Rows: sweepFlag(values{name: "queues", usual: "1,2,4", quick: "1,2", least: 1, most: control.MaxQueues},
			"queues of the interfaces", "queues", func(r *control.Row, n int) { r.Queues = n }),
		Traffic: queuesTraffic, Carried: arrived, Count: report.OneWay,
		Columns: sweepColumns, Notes: queuesNotes,
	}
}

// flowShift is where the number of a flow stands in the number of its run. There are
// never so many windows that they reach it.
const flowShift = 24

func queuesTraffic(ctx context.Context, s Side) error {
	fan, ok := s.End.(*path.Fan)
	if !ok {
		return errNoTraffic(s)
	}
	if len(fan.Senders) > 0 {
		return s.fanOut(ctx, fan.Senders)
	}
	return s.fanIn(ctx, fan.Receivers)
}

// fanOut sends a flow by each sender.
func (s Side) fanOut(ctx context.Context, senders []stream.Sender) error {
	sent, errs := make([]stream.Sent, len(senders)), make([]error, len(senders))
	var wg sync.WaitGroup
	for i, tx := range senders {
		gen := stream.NewGenerator(s.Prepare.Size, s.Start.Run|uint32(i)<<flowShift)
		wg.Go(func() { sent[i], errs[i] = stream.Transmit(ctx, tx, gen, s.Prepare.Batch, s.Start.Duration) })
	}
	wg.Wait()
	t := s.Totals
	var left uint64
	for _, n := range sent {
		t.Sent += n.Datagrams
		left += n.Left
		t.Elapsed = max(t.Elapsed, n.Elapsed)
		s.refused(n.Refused, n.Why)
	}
	t.Lost = append(t.Lost, loss.Count{Place: loss.TXRing, N: left})
	return errors.Join(errs...)
}

// fanIn receives by all receivers. Which one gets which flow is the interface's affair,
// so each knows all flows; that no datagram comes to two of them is taken for granted.
func (s Side) fanIn(ctx context.Context, receivers []stream.Receiver) error {
	tallies, times, errs := make([]stream.Tally, len(receivers)), make([]time.Duration, len(receivers)), make([]error, len(receivers))
	var wg sync.WaitGroup
	for i, rx := range receivers {
		wg.Go(func() {
			flows := newFlows(s.Prepare.Size, s.Start.Run, len(receivers))
			times[i], errs[i] = stream.Take(ctx, rx, s.Prepare.Batch, func(views [][]byte) uint64 { return flows.take(rx, views) })
			tallies[i] = flows.tally()
		})
	}
	wg.Wait()
	for i, t := range tallies {
		s.Totals.Tally = s.Totals.Tally.Plus(t)
		s.Totals.Elapsed = max(s.Totals.Elapsed, times[i])
	}
	return errors.Join(errs...)
}

// flows tells datagrams of several flows apart.
type flows struct {
	checks []*stream.Checker
	size   int
	got    uint64
}

func newFlows(size int, run uint32, n int) *flows {
	f := &flows{size: size}
	for i := range n {
		f.checks = append(f.checks, stream.NewChecker(size, run|uint32(i)<<flowShift))
	}
	return f
}

// take checks what rx has received, and returns how many were whole so far.
func (f *flows) take(rx stream.Receiver, views [][]byte) uint64 {
	for i, v := range views {
		check := f.checks[0] // of what is no flow's, as well
		if len(v) >= stream.HeaderSize {
			check = f.checks[min(int(binary.BigEndian.Uint32(v[8:])>>flowShift), len(f.checks)-1)]
		}
		var rest [][]byte
		if s, ok := rx.(stream.Segmenter); ok && len(v) < f.size {
			rest = s.Rest(i)
		}
		if _, ok := check.Add(v, rest...); ok {
			f.got++
		}
	}
	return f.got
}

func (f *flows) tally() (sum stream.Tally) {
	for _, c := range f.checks {
		sum = sum.Plus(c.Tally())
	}
	return sum
}

func queuesNotes(p Plan, doc report.Document) []string {
	return sweepNotes(p, doc,
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %s) with so many queues at each end, and as many goroutines in either process, each with a stream of its own. Sockets have a port for each stream, by which the kernel spreads them; packet sockets a ring and a port each; xdp is one Conn on all queues, and what is sent on a queue of a veth arrives on that of the same number.", doc.Env.Link, words(p.MTUs())),
		fmt.Sprintf("Each end has one processor (CPU %s and %s), so that more queues cannot carry more here: the rows show what they cost. Where queues have processors of their own, figures grow with them.", list(doc.Env.Sender.Pinned), list(doc.Env.Receiver.Pinned)),
	)
}
