// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"sync/atomic"
	"time"
)

// Name is what the test is called.
const Name = "stream"

// A Sender is the sending side of a path, for one goroutine.
type Sender interface {
	// Reserve lends buffers to write payloads to, each of exactly the size
	// that the sender was opened for, and returns how many: at least one, at
	// most len(bufs). It waits a bounded time for one to become free; 0 means
	// that none did.
	Reserve(bufs [][]byte) (int, error)
	// Send sends the first n buffers of the last Reserve, in order, and ends
	// the loan of all. It returns how many the kernel took, n unless there is
	// an error. After an error that Refused knows it may be used on.
	Send(n int) (int, error)
	// Flush waits a bounded time until all that Send took has left the
	// program's hands, and returns how many datagrams have not.
	Flush() (left int, err error)
}

// A Receiver is the receiving side of a path, for one goroutine.
type Receiver interface {
	// Receive returns payloads in views, valid until the next call. It waits
	// for the first one until ctx is done, or for a bounded time of its own
	// of about 10 ms, and then returns 0.
	Receive(ctx context.Context, views [][]byte) (int, error)
}

// A Segmenter is a Receiver whose payloads may go on after a view.
type Segmenter interface {
	Receiver
	// Rest returns what follows view i of the last Receive, nil if nothing does.
	// It is asked for views that are shorter than a payload.
	Rest(i int) [][]byte
}

// MaxBatch is the largest number of datagrams that one call may handle.
const MaxBatch = 1024

// timeEvery is how many datagrams a loop handles between two looks at the
// clock, where the batches are smaller than that.
const timeEvery = 64

// Sent is what a sender did in a window.
type Sent struct {
	Datagrams uint64        // taken by the kernel
	Left      uint64        // of these, not yet sent when the wait for that ended
	Elapsed   time.Duration // from the first to the last
	Refused   uint64        // calls, for want of a way to the peer: a millisecond each
	Why       error         // the last of them
}

// Transmit sends datagrams, numbered from 0, as fast as s takes them until
// duration has passed or ctx is done. It allocates nothing a datagram and
// reads the clock at most once in 64 of them.
//
// While there is no way to the peer it waits for one. Numbers of datagrams that were
// refused are not used again.
func Transmit(ctx context.Context, s Sender, gen Generator, batch int, duration time.Duration) (Sent, error) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var (
		sent  Sent
		bufs  = make([][]byte, batch)
		seq   uint64
		due   uint64 // number at which to look at the clock again
		start = time.Now()
	)
	for !stop.Load() {
		n, taken, err := transmit(s, gen, bufs, seq)
		seq += uint64(n)
		sent.Datagrams += uint64(taken)
		if err != nil {
			if !Refused(err) {
				sent.Elapsed = time.Since(start)
				return sent, err
			}
			sent.Refused, sent.Why = sent.Refused+1, err
			time.Sleep(RefusedPause)
		}
		if seq >= due || n == 0 || err != nil {
			due = seq + timeEvery
			if time.Since(start) >= duration {
				break
			}
		}
	}
	sent.Elapsed = time.Since(start)
	left, err := s.Flush()
	sent.Left = uint64(left)
	return sent, err
}

// transmit sends one batch. It returns how many numbers it has used, and how many
// datagrams were taken.
func transmit(s Sender, gen Generator, bufs [][]byte, seq uint64) (n, taken int, err error) {
	n, err = s.Reserve(bufs)
	if err != nil {
		return 0, 0, err
	}
	for i, b := range bufs[:n] {
		gen.Write(b, seq+uint64(i))
	}
	taken, err = s.Send(n)
	return n, taken, err
}

// How long a receiver goes on after it was told that the sender is done.
const (
	quietFor  = 30 * time.Millisecond // without a datagram: all has come
	drainMost = 2 * time.Second       // in all
)

// Collect receives and checks datagrams until ctx is done and then until no
// more come. It returns the time from the first to the last datagram that
// check counted, 0 if there were none. It allocates nothing a datagram.
func Collect(ctx context.Context, r Receiver, check *Checker, batch int) (time.Duration, error) {
	segmenter, _ := r.(Segmenter)
	return Take(ctx, r, batch, func(views [][]byte) uint64 {
		for i, v := range views {
			if segmenter != nil && len(v) < check.size {
				check.Add(v, segmenter.Rest(i)...)
			} else {
				check.Add(v)
			}
		}
		return check.tracker.received
	})
}

// Take is Collect for who does otherwise with datagrams: take gets those of each
// Receive, and returns how many have counted in all.
func Take(ctx context.Context, r Receiver, batch int, take func(views [][]byte) uint64) (time.Duration, error) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	c := collector{r: r, take: take, views: make([][]byte, batch)}
	for !stop.Load() {
		if _, err := c.receive(ctx); err != nil {
			return c.span(), err
		}
	}
	return c.span(), c.drain(context.WithoutCancel(ctx))
}

// A collector is the state of one Take.
type collector struct {
	r           Receiver
	take        func([][]byte) uint64
	views       [][]byte
	first, last time.Time
	due         uint64 // number received at which to look at the clock again
}

func (c *collector) receive(ctx context.Context) (int, error) {
	n, err := c.r.Receive(ctx, c.views)
	if got := c.take(c.views[:n]); got >= c.due && got > 0 {
		c.due = got + timeEvery
		c.last = time.Now()
		if c.first.IsZero() {
			c.first = c.last
		}
	}
	return n, err
}

// drain receives what is still queued: it came in time and counts.
func (c *collector) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainMost)
	defer cancel()
	for heard := time.Now(); ctx.Err() == nil; {
		look, done := context.WithTimeout(ctx, quietFor)
		n, err := c.receive(look)
		done()
		if err != nil {
			return err
		}
		// Only an empty look can end it: we may have been kept from looking
		// for longer than that.
		if n > 0 {
			heard = time.Now()
		} else if time.Since(heard) >= quietFor {
			return nil
		}
	}
	return nil
}

func (c *collector) span() time.Duration { return c.last.Sub(c.first) }
