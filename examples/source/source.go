// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
	"github.com/xdpath/xdpath/udp"
)

const (
	// batch is how many datagrams are handed over at once.
	batch = 64
	// interval is the time from line to line.
	interval = time.Second
	// id is the number of the test in the lines; there is one only.
	id = 1
)

// source sends one test. It is for one goroutine.
type source struct {
	settings
	q    *udp.Queue
	flow *udp.Flow
	w    io.Writer
	pace *pacer

	filler []byte // what a payload is before it has its header
	out    []udp.Outgoing
	in     []udp.Received

	began   time.Time
	left    int64 // datagrams that have left
	refused int64 // and that have not
	reason  error // why, of the latest

	printed time.Duration // until when there was a line, since the beginning
	before  int64         // how many had left then
}

func newSource(c *udp.Conn, s settings, w io.Writer) *source {
	src := &source{
		settings: s, q: c.Queues()[0], flow: c.Flow(s.to), w: w, pace: newPacer(s.rate.gap(s.size)),
		filler: make([]byte, s.size), out: make([]udp.Outgoing, batch), in: make([]udp.Received, batch),
	}
	for i := range src.filler {
		src.filler[i] = '0' + byte(i%10) // as iperf has it
	}
	return src
}

// send sends until the time is over or ctx ends. An error means that there is no use
// in going on.
func (s *source) send(ctx context.Context) error {
	s.began = time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.began.Add(s.time))
	defer cancel()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-alarm.C:
		}
		for n := s.pace.due(time.Since(s.began)); n > 0 && ctx.Err() == nil; n -= batch {
			if err := s.sendBatch(ctx, min(n, batch)); err != nil {
				return err
			}
		}
		since := time.Since(s.began)
		if since-s.printed >= interval {
			if err := s.line(since); err != nil {
				return err
			}
		}
		alarm.Reset(s.pace.next(since))
	}
}

// sendBatch reserves frames, writes datagrams into them and hands them over. All
// have left our hands when it returns, error or not.
func (s *source) sendBatch(ctx context.Context, n int) error {
	for n > 0 {
		// Frames come back when the driver has sent what was in them. If none
		// does, as when the link is down, this waits for the end.
		k, err := s.q.ReserveContext(ctx, s.out[:n])
		if ctx.Err() != nil {
			return s.q.Abort(s.out[:k])
		}
		if err != nil {
			return fmt.Errorf("source: reserve frames: %w", err)
		}
		now := time.Now() // one look at the clock a batch
		for i := range s.out[:k] {
			s.pace.sent++
			s.fill(&s.out[i], iperf.Header{Number: s.pace.sent, Sent: now})
		}
		if err := s.handOver(ctx, s.out[:k]); err != nil {
			return err
		}
		if s.left == 0 && s.refused > 0 {
			return fmt.Errorf("source: nothing can be sent to %v: %w", s.to, s.reason)
		}
		n -= k
	}
	return nil
}

// fill writes a datagram into its frame.
func (s *source) fill(o *udp.Outgoing, h iperf.Header) {
	o.Flow = s.flow
	o.Payload = o.Payload[:copy(o.Payload, s.filler)]
	h.Put(o.Payload)
}

// handOver sends datagrams. What the ring has no room for it tries again, so that
// none is missing in between; what is refused, it gives up and counts.
func (s *source) handOver(ctx context.Context, out []udp.Outgoing) error {
	for len(out) > 0 && ctx.Err() == nil {
		n, err := s.q.Send(out)
		left := 0
		for i := range out[:n] {
			if out[i].Payload == nil { // the driver's now, and ours no more
				left++
			}
		}
		s.left += int64(left)
		if err != nil {
			s.refused += int64(n - left)
			s.reason = err
			var one *udp.SendError // of those that err may consist of
			if errors.As(err, &one) {
				s.reason = one
			}
		}
		if err := s.q.Abort(out[:n]); err != nil {
			return err
		}
		if out = out[n:]; n == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(period): // it does not drain: the link is down, say
			}
		}
	}
	// At the end of the time: as if these had never been numbered.
	s.pace.sent -= int64(len(out))
	return s.q.Abort(out)
}
