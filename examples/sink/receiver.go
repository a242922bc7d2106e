// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
	"github.com/xdpath/xdpath/udp"
)

// batch is how many datagrams are taken at once.
const batch = 64

// receiver takes what comes to one queue. It is driven by one goroutine.
type receiver struct {
	q       *udp.Queue
	table   *table
	in      []udp.Received
	asked   []udp.Received // of these, what wants a report
	reports []iperf.Report // one for each
	out     []udp.Outgoing
}

func newReceiver(q *udp.Queue, t *table) *receiver {
	return &receiver{
		q: q, table: t, in: make([]udp.Received, batch), out: make([]udp.Outgoing, batch),
		asked: make([]udp.Received, 0, batch), reports: make([]iperf.Report, 0, batch),
	}
}

// run receives until ctx ends or the interface is gone, and returns why.
func (r *receiver) run(ctx context.Context) error {
	for {
		n, err := r.q.ReceiveContext(ctx, r.in)
		if err != nil {
			return err
		}
		// One look at the clock a batch: the rings do not tell when each came.
		if err := r.account(r.in[:n], time.Now()); err != nil {
			return err
		}
	}
}

// account takes datagrams into account and gets rid of them: the last of a test
// becomes its answer, all others are given back.
func (r *receiver) account(ds []udp.Received, now time.Time) error {
	rest, asked, reports := ds[:0], r.asked[:0], r.reports[:0]
	r.table.mu.Lock()
	for _, d := range ds {
		report, last := r.table.add(peers{d.Src, d.Dst}, d.Payload, d.Len(), now)
		if !last {
			rest = append(rest, d)
			continue
		}
		asked, reports = append(asked, d), append(reports, report)
	}
	r.table.mu.Unlock()
	return errors.Join(r.q.Release(rest), r.reply(asked, reports))
}

// reply writes each report over the datagram that asked for it and sends that back.
// What cannot be sent now is dropped: the sender asks again.
func (r *receiver) reply(asked []udp.Received, reports []iperf.Report) error {
	if len(asked) == 0 {
		return nil
	}
	var errs []error
	answers := r.out[:0]
	for i := range asked {
		o := &r.out[len(answers)]
		if err := r.q.Reply(&asked[i], o); err != nil { // no frame free for a copy; it is ours still
			errs = append(errs, r.q.Release(asked[i:i+1]))
			continue
		}
		o.Payload = o.Payload[:iperf.ReportLen] // longer or shorter than what came: the chunk has room
		reports[i].Put(o.Payload)
		answers = r.out[:len(answers)+1]
	}
	// What ends the Conn, the next receive call tells; the rest passes.
	_, _ = r.q.Send(answers)
	return errors.Join(append(errs, r.q.Abort(answers))...)
}
