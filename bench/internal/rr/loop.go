// SPDX-License-Identifier: MIT

package rr

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Name is what the test is called.
const Name = "rr"

// Timeout is how long the client waits for an answer before it goes on.
const Timeout = 50 * time.Millisecond

// A Peer is either side of a path, for one goroutine.
type Peer interface {
	// Request lends a buffer to write the next request to, of exactly the size
	// that the peer was opened for, until Send.
	Request() ([]byte, error)
	// Send sends the request.
	Send() error
	// Receive waits for a datagram, until the given time at the latest, and
	// returns its payload, valid until the next call of a method. Nil is none:
	// it may return that sooner, and the caller comes back.
	Receive(until time.Time) ([]byte, error)
	// Reply sends what Receive returned back to where it came from.
	Reply() error
}

// Trips are what a client found out in a window.
type Trips struct {
	Sent    uint64        // requests
	Latency Latency       // of those that were answered in time
	Elapsed time.Duration // from the first request until the last was done with
	Refused uint64        // requests, for want of a way to the server: a millisecond each
	Why     error         // the last of them
}

// Ping sends requests, numbered from 0, one after the other, until duration has
// passed or ctx is done. Answers go to check, late ones too. It allocates nothing
// a round trip.
func Ping(ctx context.Context, p Peer, gen stream.Generator, check *stream.Checker, duration time.Duration) (Trips, error) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var t Trips
	times := newRecorder()
	start := time.Now()
	// Time is told since the start: to look at the wall clock as well takes as long
	// again, and is in the times.
	for now := time.Duration(0); !stop.Load() && now < duration; t.Elapsed = now {
		b, err := p.Request()
		if err != nil {
			return t, err
		}
		gen.Write(b, t.Sent)
		sent := time.Since(start)
		if err := p.Send(); err != nil {
			if !stream.Refused(err) {
				return t, err
			}
			t.Refused, t.Why = t.Refused+1, err
			time.Sleep(stream.RefusedPause)
			now = time.Since(start)
			continue
		}
		seq := t.Sent
		t.Sent++
		var ok bool
		if now, ok, err = await(p, check, seq, start, sent+Timeout); err != nil {
			return t, err
		}
		if ok {
			times.add(now - sent)
		}
	}
	t.Latency = times.latency()
	return t, latecomers(p, check, t.Sent)
}

// await waits for the answer numbered seq and returns when it came, or, with
// false, when the wait for it ended. Times count from start.
func await(p Peer, check *stream.Checker, seq uint64, start time.Time, until time.Duration) (time.Duration, bool, error) {
	deadline := start.Add(until)
	for {
		b, err := p.Receive(deadline)
		now := time.Since(start)
		if err != nil {
			return now, false, err
		}
		if b != nil {
			if got, ok := check.Add(b); ok && got == seq {
				return now, true, nil
			}
		}
		if now >= until {
			return now, false, nil
		}
	}
}

// lateMost is how long a client waits at the end for answers that are missing.
const lateMost = 10 * Timeout

// latecomers gives answers that are still missing the time to come, so that they
// are known to be late and not lost.
func latecomers(p Peer, check *stream.Checker, sent uint64) error {
	for until := time.Now().Add(lateMost); check.Tally().Received < sent; {
		b, err := p.Receive(until)
		if err != nil {
			return err
		}
		if b != nil {
			check.Add(b)
		} else if !time.Now().Before(until) {
			return nil
		}
	}
	return nil
}

// Served is what a server did in a window.
type Served struct {
	Answered uint64
	// Late is how many requests came when the client had given them up and
	// left.
	Late uint64
	// Refused is how many answers could not be sent for want of a way to the client.
	Refused uint64
	Why     error // the last of them
}

// quiet is how long a server listens on after its client has left.
const quiet = 20 * time.Millisecond

// Echo answers the requests that check finds whole, until ctx is done. What still
// comes then is counted and not answered.
func Echo(ctx context.Context, p Peer, check *stream.Checker) (Served, error) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var s Served
	for until := time.Now().Add(quiet); !stop.Load(); {
		b, err := p.Receive(until)
		if err != nil {
			return s, err
		}
		if b == nil {
			until = time.Now().Add(quiet)
			continue
		}
		if _, ok := check.Add(b); !ok {
			continue
		}
		if err := p.Reply(); err != nil {
			if !stream.Refused(err) {
				return s, err
			}
			s.Refused, s.Why = s.Refused+1, err
			continue
		}
		s.Answered++
	}
	answered := check.Tally().Received
	for until := time.Now().Add(quiet); ; {
		b, err := p.Receive(until)
		if err != nil {
			return s, err
		}
		if b != nil {
			check.Add(b)
		}
		if !time.Now().Before(until) {
			break
		}
	}
	s.Late = check.Tally().Received - answered
	return s, nil
}
