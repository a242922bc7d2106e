// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const flushWait = 2 * time.Second

// send sends on all streams in turn until ctx is done, or all that was asked for has
// been sent. It returns when that has left.
func (s *session) send(ctx context.Context, limit uint64) error {
	pacer, batch, err := s.pace()
	if err != nil {
		return err
	}
	var total uint64
	for {
		for _, st := range s.streams {
			if limit > 0 && total >= limit {
				return s.flush()
			}
			n := batch
			if limit > 0 {
				n = int(min(uint64(n), limit-total))
			}
			if pacer != nil {
				if pacer.Wait(ctx) != nil {
					return s.flush()
				}
			}
			sent, err := s.sendAll(ctx, st, n)
			total += uint64(sent)
			switch {
			case ctx.Err() != nil:
				return s.flush()
			case err != nil:
				return fmt.Errorf("send: %w", err)
			}
			if pacer != nil {
				pacer.Sent()
			}
		}
	}
}

// usualTimer is iperf 3's pacing timer, unless the client tells another.
const usualTimer = 1000 // µs

// pace makes the pacer that serves all streams, nil for as fast as it goes, and says
// how many datagrams of a stream leave together. As with iperf 3 itself that is as many
// as are due within the pacing timer: to keep each from the next would cost a
// processor, which is not what is to be measured.
func (s *session) pace() (p Pacer, together int, err error) {
	if s.params.Bandwidth == 0 {
		return nil, s.port.Batch(), nil
	}
	each := s.params.Bandwidth / 8 / s.params.Len // datagrams a second of one stream
	timer := s.params.PacingTimer
	if timer == 0 {
		timer = usualTimer
	}
	together = max(1, int(each*timer/1e6))
	p, err = s.pacer(each * s.params.Parallel / float64(together))
	return p, together, err
}

// sendAll sends n datagrams of a stream, however many the port takes at once.
func (s *session) sendAll(ctx context.Context, st *stream, n int) (sent int, err error) {
	for sent < n && err == nil && ctx.Err() == nil {
		var now int
		now, err = s.sendOn(ctx, st, n-sent)
		sent += now
	}
	return sent, err
}

// sendOn sends up to n datagrams of a stream.
func (s *session) sendOn(ctx context.Context, st *stream, n int) (int, error) {
	counter, wide := st.sent, bool(s.params.Wide)
	sent, err := st.out.Send(ctx, n, int(s.params.Len), func(b []byte) {
		counter++
		Header{Sent: now(), Counter: counter}.Put(b, wide)
	})
	s.mu.Lock()
	st.sent += uint64(sent)
	s.mu.Unlock()
	return sent, err
}

// flush waits for the last datagrams of each stream to leave.
func (s *session) flush() error {
	var errs []error
	for _, st := range s.streams {
		ctx, cancel := context.WithTimeout(context.Background(), flushWait)
		errs = append(errs, st.out.Flush(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// limit is the number of datagrams after which a client ends, 0 for none.
func (p Params) limit() uint64 {
	switch {
	case p.BlockCount > 0:
		return uint64(p.BlockCount)
	case p.Num > 0:
		return (uint64(p.Num) + uint64(p.Len) - 1) / uint64(p.Len)
	}
	return 0
}
