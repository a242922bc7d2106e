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
	// interval is the time from line to line.
	interval = time.Second
	// id is the number of the test in the lines; there is one only.
	id = 1
	// again is how soon what had no room is tried again.
	again = time.Millisecond
)

// source sends one test. It is for one goroutine.
type source struct {
	settings
	q    *udp.Queue
	flow *udp.Flow
	w    io.Writer
	pace *udp.Pacer

	filler []byte // what a payload is before it has its header
	out    []udp.Outgoing
	in     []udp.Received

	began    time.Time
	numbered int64 // datagrams, the last one's number
	left     int64 // that have left
	refused  int64 // and that have not
	reason   error // why, of the latest

	printed time.Duration // until when there was a line, since the beginning
	before  int64         // how many had left then
}

func newSource(c *udp.Conn, s settings, w io.Writer) (*source, error) {
	pace, err := s.pacer()
	src := &source{
		settings: s, q: c.Queues()[0], flow: c.Flow(s.to), w: w, pace: pace,
		filler: make([]byte, s.size), out: make([]udp.Outgoing, 1), in: make([]udp.Received, 64),
	}
	for i := range src.filler {
		src.filler[i] = '0' + byte(i%10) // as iperf has it
	}
	return src, err
}

// send sends until the time is over or ctx ends. An error means that there is no use
// in going on.
func (s *source) send(ctx context.Context) error {
	s.began = time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.began.Add(s.time))
	defer cancel()
	// Queue.SendPaced would send a batch of datagrams, but each has the time in it
	// when it leaves: so they are written one by one.
	for s.pace.Wait(ctx) == nil {
		if err := s.sendNext(ctx); err != nil {
			return err
		}
		if since := time.Since(s.began); since-s.printed >= interval {
			if err := s.line(since); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendNext reserves a frame, writes the next datagram into it and hands it over. It has
// left our hands when this returns, error or not.
func (s *source) sendNext(ctx context.Context) error {
	// Frames come back when the driver has sent what was in them. If none does, as
	// when the link is down, this waits for the end.
	n, err := s.q.ReserveContext(ctx, s.out)
	if ctx.Err() != nil {
		return s.q.Abort(s.out[:n])
	}
	if err != nil {
		return fmt.Errorf("source: reserve a frame: %w", err)
	}
	s.numbered++
	s.fill(&s.out[0], iperf.Header{Number: s.numbered, Sent: time.Now()})
	if err := s.handOver(ctx); err != nil {
		return err
	}
	if s.left == 0 && s.refused > 0 {
		return fmt.Errorf("source: nothing can be sent to %v: %w", s.to, s.reason)
	}
	return nil
}

// fill writes a datagram into its frame.
func (s *source) fill(o *udp.Outgoing, h iperf.Header) {
	o.Flow = s.flow
	o.Payload = o.Payload[:copy(o.Payload, s.filler)]
	h.Put(o.Payload)
}

// handOver sends the datagram. If the ring has no room for it, it tries again, so that
// none is missing in between; what is refused, it gives up and counts.
func (s *source) handOver(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := s.q.Send(s.out)
		if s.out[0].Payload == nil { // the driver's now, and ours no more
			s.left++
			s.pace.Sent()
			return nil
		}
		if err != nil {
			s.refused += int64(n)
			s.reason = err
			var one *udp.SendError // of those that err may consist of
			if errors.As(err, &one) {
				s.reason = one
			}
		}
		if n > 0 {
			return s.q.Abort(s.out)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again): // it does not drain: the link is down, say
		}
	}
	// At the end of the time: as if it had never been numbered.
	s.numbered--
	return s.q.Abort(s.out)
}
