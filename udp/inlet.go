// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/wait"
)

// inlet is what a receiver waits at: the AF_XDP sockets of one queue or of all,
// and the companion socket.
type inlet struct {
	conn   *Conn
	queues []*Queue
	turn   atomic.Uint32 // which queue is looked at first, and when the clock is
	passed atomic.Bool   // the lane was due and there was no room for it
	wait   wait.Waiter
}

// laneInterval is how often the kernel lane is looked at while the fast lane has
// something: it costs a system call.
const laneInterval = time.Millisecond

// clockTurns is how many calls that find something lie between two looks at the
// clock for that: a look takes a good part of the time that one datagram does.
const clockTurns = 8

func (in *inlet) setup(c *Conn, queues ...*Queue) {
	in.conn, in.queues = c, queues
	in.wait.Mode = wait.Mode(c.cfg.Wait)
	in.wait.Pacer = wait.Pacer{MaxSpin: c.spin(), Room: c.cfg.RingSize}
}

// receive takes what is there, without waiting: from the kernel lane when that is
// due, and from the rings.
func (in *inlet) receive(dst []Received) (int, error) {
	if in.conn.unheard.Load() != nil {
		if err := in.conn.unheard.Swap(nil); err != nil {
			return 0, in.conn.ended(*err)
		}
	}
	// The rings first, but if they left the lane no room last time.
	laneFirst := in.passed.Load() && in.conn.laneDue() && in.passed.Swap(false)
	n := 0
	var err error
	if laneFirst {
		n, err = in.fromLane(dst)
	}
	turn := in.turn.Add(1)
	for i := 0; i < len(in.queues) && err == nil; i++ {
		var k int
		// Another queue is first each time, so that none starves.
		k, err = in.queues[int((turn+uint32(i))%uint32(len(in.queues)))].fromRing(dst[n:])
		n += k
	}
	switch {
	case err != nil || laneFirst:
	case n > 0 && turn%clockTurns != 0 && in.conn.laneAt.Load() != 0 || !in.conn.laneDue():
	case n == len(dst):
		in.passed.Store(true)
		in.conn.laneAt.Store(0)
	default:
		var k int
		k, err = in.fromLane(dst[n:])
		n += k
	}
	if err != nil && n == 0 {
		return 0, in.conn.ended(err)
	}
	if n == 0 {
		return 0, in.conn.ended(nil)
	}
	in.wait.Got(n)
	return n, nil
}

// fromLane receives from the companion socket. An error beside datagrams is kept for
// the next call, since the socket has forgotten it.
func (in *inlet) fromLane(dst []Received) (int, error) {
	n, err := in.conn.fromLane(dst)
	if err != nil && n > 0 {
		in.conn.unheard.Store(&err)
		err = nil
	}
	return n, err
}

// receiveContext is receive that waits.
func (in *inlet) receiveContext(ctx context.Context, dst []Received) (int, error) {
	for {
		n, err := in.receive(dst)
		if n > 0 || err != nil || len(dst) == 0 {
			return n, err
		}
		if err := in.wait.Wait(ctx, in); err != nil {
			return 0, in.conn.ended(err)
		}
	}
}

// Ready, Poke and Descriptors make an inlet a wait.Source.

func (in *inlet) Ready() bool {
	for _, q := range in.queues {
		if q.sock.Ready() {
			return true
		}
	}
	c := in.conn
	if in.wait.Mode == wait.Busy && int64(time.Since(epoch))-c.laneAt.Load() >= int64(laneInterval) {
		return true // to look at the kernel lane, which nothing else tells of
	}
	return c.lane.Pending() > 0 || c.err.Load() != nil
}

// Poke drives what only system calls drive, during a busy wait.
func (in *inlet) Poke() {
	for _, q := range in.queues {
		q.sock.Poke()
	}
}

func (in *inlet) Descriptors(fds []int) []int {
	for _, q := range in.queues {
		if fd := q.sock.FD(); fd >= 0 {
			fds = append(fds, fd)
		}
	}
	in.conn.laneAt.Store(0) // whatever ends the sleep, the lane may be why
	if in.conn.err.Load() != nil || in.conn.lane.Pending() > 0 {
		return nil
	}
	return append(fds, in.conn.lane.FD())
}

// laneDue tells whether to look at the kernel lane now: after a sleep, and once an
// interval.
func (c *Conn) laneDue() bool {
	if len(c.queues) == 0 {
		return true
	}
	at := c.laneAt.Load()
	now := int64(time.Since(epoch))
	return (at == 0 || now-at >= int64(laneInterval)) && c.laneAt.CompareAndSwap(at, now)
}

// epoch is what times count from.
var epoch = time.Now()

// fromLane receives from the companion socket.
func (c *Conn) fromLane(dst []Received) (int, error) {
	msgs := c.scratch.get()
	defer c.scratch.put(msgs)
	n, err := c.lane.Receive(msgs[:min(len(msgs), len(dst))])
	if errors.Is(err, lane.ErrNoBuffers) {
		err = nil // the caller holds all there are; they come back with Release
	}
	bytes := 0
	for i, m := range msgs[:n] {
		held := c.scratch.keep(m)
		dst[i] = Received{
			Payload: m.Payload, Src: m.Src, Dst: m.Dst, TTL: m.TTL, TOS: m.TOS, Truncated: m.Truncated,
			Lane: Kernel, Time: m.Received, extra: held, use: held.uses.Load(), held: true,
		}
		bytes += len(m.Payload)
	}
	c.stats.kernelRx.Add(uint64(n))
	c.stats.kernelRxBytes.Add(uint64(bytes))
	return n, err
}
