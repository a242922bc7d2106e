// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"sync"

	"github.com/xdpath/xdpath/internal/lane"
)

// On the kernel lane alone a Conn has one Queue, without a socket of AF_XDP. What
// it lends for writing is ordinary memory, and runs of datagrams of one size to
// one destination leave together (UDP_SEGMENT), as the best of sockets do.

const (
	// kernelRoom is the room of a reserved datagram.
	kernelRoom = 9000
	// kernelLent is how many may be reserved at a time.
	kernelLent = 1024
	// maxBundle bounds a run: what one UDP datagram can hold.
	maxBundle = 65507
)

// kernelRooms lends memory for datagrams.
type kernelRooms struct {
	mu   sync.Mutex // guards what follows
	free [][]byte
	lent int

	bundle []byte // where a run is gathered; the queue's tx lock guards it, and out
	out    [1]lane.Outgoing
}

// newKernelQueue makes the queue of a Conn on the kernel lane alone.
func newKernelQueue(c *Conn) *Queue {
	q := &Queue{conn: c, rooms: &kernelRooms{}}
	q.in.setup(c)
	return q
}

// reserve lends memory.
func (r *kernelRooms) reserve(dst []Outgoing) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; n < len(dst) && r.lent < kernelLent; n++ {
		var b []byte
		if k := len(r.free); k > 0 {
			b, r.free = r.free[k-1], r.free[:k-1]
		} else {
			b = make([]byte, kernelRoom)
		}
		r.lent++
		dst[n] = Outgoing{Payload: b, room: b, held: true}
	}
	return n
}

// back takes the memory of a datagram that was sent or given up.
func (r *kernelRooms) back(o *Outgoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, o.room[:cap(o.room)])
	r.lent--
	o.held, o.Payload, o.room = false, nil, nil
}

// reserveKernel is ReserveContext on the kernel lane.
func (q *Queue) reserveKernel(ctx context.Context, dst []Outgoing) (int, error) {
	for {
		if err := q.conn.ended(nil); err != nil {
			return 0, err
		}
		if n := q.rooms.reserve(dst); n > 0 || len(dst) == 0 {
			return n, nil
		}
		if err := q.conn.writes.Sleep(ctx, laneInterval); err != nil {
			return 0, q.conn.ended(err)
		}
	}
}

// sendByKernel is Send on the kernel lane.
func (q *Queue) sendByKernel(os []Outgoing) (n int, err error) {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	for n < len(os) {
		if e := q.conn.ended(nil); e != nil {
			return n, errors.Join(err, e)
		}
		run := q.run(os[n:])
		sent, e := q.sendRun(os[n : n+run])
		if again(e) {
			break // the socket's buffer is full
		}
		for i := range os[n : n+sent] {
			q.rooms.back(&os[n+i])
		}
		if n += sent; e != nil {
			err = errors.Join(err, &SendError{n, os[n].Dst, e})
			n++
		}
	}
	return n, err
}

// run is how many of the first datagrams can leave together: same destination and
// size, but for a shorter last one.
func (q *Queue) run(os []Outgoing) int {
	size, total := len(os[0].Payload), 0
	for i := range os {
		o := &os[i]
		q.aim(o)
		total += len(o.Payload)
		same := o.Dst == os[0].Dst && o.Src == os[0].Src && o.TOS == os[0].TOS && len(o.Payload) <= size && len(o.Payload) > 0
		if i > 0 && (!same || !o.held || total > maxBundle) {
			return i
		}
		if len(o.Payload) < size || !o.held {
			return i + 1
		}
	}
	return len(os)
}

// aim gives a datagram with a Flow its destination.
func (q *Queue) aim(o *Outgoing) {
	if o.Flow != nil {
		o.Dst, o.Src = o.Flow.dst, o.Flow.src
	}
}

// sendRun sends a run and returns how many of it have left.
func (q *Queue) sendRun(os []Outgoing) (int, error) {
	c, size := q.conn, len(os[0].Payload)
	if !os[0].held {
		return 0, errNotHeld
	}
	out := lane.Outgoing{Payload: os[0].Payload, Dst: os[0].Dst, Src: os[0].Src, TTL: c.cfg.TTL, TOS: c.tos(os[0].TOS)}
	var sent int
	var err error
	if len(os) == 1 {
		q.rooms.out[0] = out
		sent, err = c.lane.Send(q.rooms.out[:1])
	} else {
		q.rooms.bundle = q.rooms.bundle[:0]
		for i := range os {
			q.rooms.bundle = append(q.rooms.bundle, os[i].Payload...)
		}
		out.Payload = q.rooms.bundle
		sent, err = c.lane.SendSegments(out, size)
	}
	if sent == 0 && err == nil {
		err = errAgain
	}
	c.stats.kernelTx.Add(uint64(sent))
	for i := range os[:sent] {
		c.stats.kernelTxBytes.Add(uint64(len(os[i].Payload)))
	}
	return sent, err
}
