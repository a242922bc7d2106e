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
	batch := s.port.Batch()
	var pacer Pacer
	if s.params.Bandwidth > 0 {
		// The rate is each stream's, and one pacer serves them all.
		rate := s.params.Bandwidth * s.params.Parallel / 8 / s.params.Len
		var err error
		if pacer, err = s.pacer(rate); err != nil {
			return err
		}
		batch = 1
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
			sent, err := s.sendOn(ctx, st, n)
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
