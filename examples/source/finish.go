// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
)

const (
	// attempts is how often the receiver is told that it was all, and patience how
	// long its report may take each time.
	attempts = 25
	patience = 100 * time.Millisecond
)

// line tells what was sent since the line before, and looks whether anything came
// back.
func (s *source) line(since time.Duration) error {
	fmt.Fprintln(s.w, iperf.SenderLine(id, s.printed, since, (s.left-s.before)*int64(s.size)))
	s.printed, s.before = since, s.left
	_, _, err := s.take(s.q.Receive(s.in))
	return err
}

// finish tells the receiver that it was all until it reports, and prints the report.
func (s *source) finish() error {
	lasted := time.Since(s.began)
	last := iperf.Header{Number: -(s.numbered + 1), Sent: time.Now()}
	fmt.Fprintln(s.w, iperf.SenderLine(id, 0, lasted, (s.left+1)*int64(s.size)))
	fmt.Fprintf(s.w, "[%3d] Sent %d datagrams\n", id, s.left+1) // the last is one too
	if s.refused > 0 {
		fmt.Fprintf(s.w, "[%3d] %d datagrams could not be sent, the latest: %v\n", id, s.refused, s.reason)
	}
	for range attempts {
		if err := s.sendLast(last); err != nil {
			return err
		}
		r, ok, err := s.await()
		if err != nil {
			return err
		}
		if ok {
			fmt.Fprintf(s.w, "[%3d] Server Report:\n%s\n", id, iperf.ReceiverTitle)
			fmt.Fprintln(s.w, iperf.ReceiverLine(id, 0, r.Duration, r))
			if r.Reordered > 0 {
				fmt.Fprintln(s.w, iperf.ReorderedLine(id, 0, r.Duration, r))
			}
			return nil
		}
	}
	return fmt.Errorf("source: no report from %v in %v: is iperf -s -u or examples/sink running there, and reachable?",
		s.to, attempts*patience)
}

// sendLast sends the last datagram. That there is no room for it now, or no way, is no
// error: there are more attempts.
func (s *source) sendLast(last iperf.Header) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n, err := s.q.ReserveContext(ctx, s.out[:1])
	if n == 0 {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("source: reserve a frame: %w", err)
	}
	s.fill(&s.out[0], last)
	_, _ = s.q.Send(s.out[:1])
	return s.q.Abort(s.out[:1])
}

// await waits for the report.
func (s *source) await() (r iperf.Report, ok bool, err error) {
	s.q.SetReceiveDeadline(time.Now().Add(patience))
	for err == nil && !ok {
		r, ok, err = s.take(s.q.ReceiveContext(nil, s.in))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return r, ok, err
}

// take gives what was received back and returns the report, if one is there.
func (s *source) take(n int, err error) (r iperf.Report, ok bool, _ error) {
	for _, d := range s.in[:n] {
		if x, is := iperf.ParseReport(d.Payload); is {
			r, ok = x, true
		}
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("source: nobody listens at %v; start iperf -s -u or examples/sink there: %w", s.to, err)
	}
	return r, ok, errors.Join(err, s.q.Release(s.in[:n]))
}
