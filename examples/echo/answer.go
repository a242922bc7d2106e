// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/xdpath/xdpath/udp"
)

// batch is how many datagrams are taken at once: locks and ring indexes are touched
// once a batch, and one system call sends all answers.
const batch = 64

// answerer echoes what comes to one queue. It is driven by one goroutine; queues
// share nothing, so they do not wait for each other.
type answerer struct {
	q      *udp.Queue
	in     []udp.Received
	out    []udp.Outgoing
	unsent atomic.Uint64
	reason atomic.Pointer[error] // of the latest that was not sent
}

func newAnswerer(q *udp.Queue) *answerer {
	return &answerer{q: q, in: make([]udp.Received, batch), out: make([]udp.Outgoing, batch)}
}

// run echoes until ctx ends or the interface is gone, and returns why.
func (a *answerer) run(ctx context.Context) error {
	for {
		n, err := a.q.ReceiveContext(ctx, a.in)
		if err != nil {
			return err
		}
		if err := a.answer(a.in[:n]); err != nil {
			return err
		}
	}
}

// answer gets rid of received datagrams: each becomes its own answer, and leaves, or
// is given back. Nothing of them is in our hands when it returns.
func (a *answerer) answer(ds []udp.Received) error {
	answers, rest := a.out[:0], ds[:0]
	for i := range ds {
		d := &ds[i]
		if !wantsAnswer(d.Payload) {
			rest = append(rest, *d)
			continue
		}
		// d's frame is the answer's from here on. If d came by the kernel lane
		// there may be no frame to copy it into; then it stays d.
		answers = answers[:len(answers)+1]
		if err := a.q.Reply(d, &answers[len(answers)-1]); err != nil {
			answers = answers[:len(answers)-1]
			rest = append(rest, *d)
			a.failed(1, err)
		}
	}
	return errors.Join(a.q.Release(rest), a.send(answers))
}

// send sends answers, and drops what cannot be sent now: an echo is of no use later.
func (a *answerer) send(answers []udp.Outgoing) error {
	_, err := a.q.Send(answers)
	left := 0
	for i := range answers {
		if answers[i].Payload != nil { // it has not left: it is still ours
			left++
		}
	}
	if left > 0 || err != nil {
		a.failed(left, err)
	}
	return a.q.Abort(answers)
}

// failed counts answers that were not sent. An error is about these only, or passes,
// such as a link that is down; what ends the Conn, the next receive call tells.
func (a *answerer) failed(n int, err error) {
	a.unsent.Add(uint64(n))
	var one *udp.SendError // of those that err may consist of
	if errors.As(err, &one) {
		err = one
	}
	if err != nil {
		a.reason.Store(&err)
	}
}

// unsent is what all answerers could not send.
func unsent(answerers []*answerer) string {
	n, why := uint64(0), ""
	for _, a := range answerers {
		n += a.unsent.Load()
		if err := a.reason.Load(); err != nil {
			why = fmt.Sprintf(", the latest: %v", *err)
		}
	}
	return fmt.Sprintf("%d answers not sent%s", n, why)
}
