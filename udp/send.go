// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"time"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// errBroadcast is what the kernel says to a socket without SO_BROADCAST.
var errBroadcast = error(syscall.EACCES)

// Reserve gives the caller up to len(dst) datagrams to write and returns how many,
// without waiting. Each has
// room for [Conn.PayloadRoom] bytes. What is not sent is
// given up with Abort.
//
// Errors: net.ErrClosed after Close.
func (q *Queue) Reserve(dst []Outgoing) (n int, err error) {
	if q.sock == nil {
		if err := q.conn.ended(nil); err != nil {
			return 0, err
		}
		return q.rooms.reserve(dst), nil
	}
	var frames [batch]umem.Frame
	for n < len(dst) {
		k, err := q.sock.Reserve(frames[:min(len(frames), len(dst)-n)])
		if err != nil {
			return n, q.conn.ended(err)
		}
		if k == 0 {
			break
		}
		for _, f := range frames[:k] {
			q.room(&dst[n], f)
			n++
		}
	}
	return n, nil
}

// ReserveContext is Reserve that waits until there is at least one, flushing what
// hinders it. ctx may be nil.
func (q *Queue) ReserveContext(ctx context.Context, dst []Outgoing) (int, error) {
	if q.sock == nil {
		return q.reserveKernel(ctx, dst)
	}
	n, err := q.Reserve(dst)
	if n > 0 || err != nil || len(dst) == 0 {
		return n, err
	}
	var one [1]umem.Frame
	if _, err := q.sock.ReserveContext(ctx, one[:]); err != nil {
		return 0, q.conn.ended(err)
	}
	q.room(&dst[0], one[0])
	n, err = q.Reserve(dst[1:])
	return n + 1, err
}

// room makes a datagram of a reserved frame.
func (q *Queue) room(o *Outgoing, f umem.Frame) {
	b, _ := q.sock.Area().Bytes(f)
	at := q.conn.headerRoom
	room := b[at-f.Offset() : cap(b)]
	*o = Outgoing{Payload: room, room: room, frame: f, at: at, held: true}
}

// Abort gives up datagrams that will not be sent.
func (q *Queue) Abort(os []Outgoing) (err error) {
	for i := range os {
		if os[i].held && q.sock == nil {
			q.rooms.back(&os[i])
		} else if os[i].held {
			os[i].held, os[i].Payload = false, nil
			err = keep(err, q.sock.Release([]umem.Frame{os[i].frame}))
		}
	}
	return err
}

// Reply turns d into a datagram to its sender, in the same frame: addresses and
// ports change places and the payload, if o.Payload is left as it is, goes back.
// It can be cut, or extended to its capacity. d is gone, as if released.
//
// A datagram of the kernel lane is copied into a reserved frame; without one free
// the error is ErrNoFrames and d stays.
func (q *Queue) Reply(d *Received, o *Outgoing) error {
	if !d.held {
		return umem.ErrFrame
	}
	if d.Lane == Fast && d.Dst.Addr().IsMulticast() == false {
		*o = Outgoing{Payload: d.Payload, Dst: d.Src, room: d.Payload, frame: d.frame, at: d.head + d.frame.Offset(), held: true, reply: true}
		d.held, d.Payload = false, nil
		return nil
	}
	var one [1]Outgoing
	if n, err := q.Reserve(one[:]); n == 0 {
		return keep(err, ErrNoFrames)
	}
	*o = one[0]
	o.Dst = d.Src
	if a := d.Dst.Addr(); !a.IsMulticast() && q.conn.owns(a) {
		o.Src = a
	}
	if len(d.Payload) > len(o.Payload) {
		o.Payload = append([]byte(nil), d.Payload...) // for the kernel lane, in fragments
	} else {
		o.Payload = o.Payload[:copy(o.Payload, d.Payload)]
	}
	return q.Release([]Received{*d})
}

// Send sends datagrams and returns how many of them it has dealt with: the first
// n. Of these, what has left (or is queued, see Coalesce) has no Payload any more;
// what was refused is still the caller's and is named by a [*SendError] in the
// error: a bad datagram does not keep the good ones from going. The others are
// untouched: the ring is full and does not drain, so wait and go on with them.
//
// Each datagram takes the fast lane if its flow has one and it fits there, and
// the kernel lane otherwise.
func (q *Queue) Send(os []Outgoing) (n int, err error) {
	if q.sock == nil {
		return q.sendByKernel(os)
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	for n < len(os) {
		room := q.sock.Room(min(len(os)-n, cap(q.tx)))
		if room == 0 {
			if _, err := q.flush(); err != nil {
				return n, err
			}
			if room = q.sock.Room(min(len(os)-n, cap(q.tx))); room == 0 {
				break
			}
		}
		k, e := q.sendSome(os[n:n+min(room, cap(q.tx))], n)
		n += k
		if e != nil {
			err = errors.Join(err, e)
		}
	}
	if e := q.coalesce(); e != nil {
		err = errors.Join(err, e)
	}
	return n, err
}

// sendSome sends no more than the ring has room for. The lock is held.
func (q *Queue) sendSome(os []Outgoing, from int) (n int, err error) {
	q.tx = q.tx[:0]
	bytes := 0
	for i := range os {
		o := &os[i]
		size := len(o.Payload)
		fast, e := q.place(o)
		if e != nil {
			err = errors.Join(err, &SendError{from + i, o.Dst, e})
			continue
		}
		if fast {
			bytes += size
		}
	}
	if len(q.tx) > 0 {
		k, e := q.sock.Send(q.tx)
		q.pending += k
		q.conn.stats.fastTx.Add(uint64(k))
		q.conn.stats.fastTxBytes.Add(uint64(bytes))
		if e != nil {
			// Each was checked; what the socket refuses all the same (a
			// smaller MTU since) is lost with a name.
			q.conn.stats.txRefused.Add(uint64(len(q.tx) - k))
			err = errors.Join(err, e, q.sock.Release(q.tx[k:]))
		}
	}
	return len(os), err
}

// place puts a datagram on its lane: into q.tx for the fast one.
func (q *Queue) place(o *Outgoing) (fast bool, err error) {
	if !o.held {
		return false, umem.ErrFrame
	}
	if o.reply && o.inPlace() && !o.Src.IsValid() && o.Flow == nil {
		if f, ok := q.turn(o); ok {
			q.tx = append(q.tx, f)
			o.held, o.Payload = false, nil
			return true, nil
		}
	}
	fl := o.Flow
	if fl == nil {
		fl = q.conn.to(o.Dst)
		if o.Src.IsValid() && o.Src != q.conn.local.Addr() {
			fl = q.conn.flowFrom(o.Dst, o.Src)
		}
	}
	o.Dst = fl.dst
	st := fl.current()
	if st.err != nil {
		return false, st.err
	}
	if !st.kind.Direct() || len(o.Payload) > st.most || !fl.settled() {
		return false, q.byKernel(fl, st, o)
	}
	f, err := q.stamp(o, &st.tmpl)
	if err != nil {
		return false, err
	}
	q.tx = append(q.tx, f)
	o.held, o.Payload = false, nil
	return true, nil
}

// stamp writes the headers before the payload, which is moved only if it lies
// elsewhere.
func (q *Queue) stamp(o *Outgoing, t *packet.Template) (umem.Frame, error) {
	area := q.sock.Area()
	payload, at := o.Payload, o.at
	if !o.inPlace() || at < t.Len() || o.reply && t.Checksum() == packet.Offload {
		at = q.conn.headerRoom
		whole, err := area.Bytes(o.frame.At(at, len(payload)))
		if err != nil {
			return umem.Frame{}, syscall.EMSGSIZE
		}
		copy(whole, payload)
		payload = whole
	}
	f := o.frame.At(at-t.Len(), t.Len()+len(payload))
	b, err := area.Bytes(f)
	if err != nil {
		return umem.Frame{}, err
	}
	if t.Put(b, payload) == 0 {
		return umem.Frame{}, syscall.EMSGSIZE
	}
	if o.TOS != 0 {
		t.SetTOS(b, o.TOS)
	}
	if t.Checksum() == packet.Offload {
		return xsk.PutTxMetadata(area, f, xsk.TxMetadata{
			Checksum: true, ChecksumStart: uint16(t.ChecksumStart()), ChecksumOffset: packet.ChecksumOffset,
		})
	}
	return f, nil
}

// turn makes a reply in place of the headers that the frame was received with.
func (q *Queue) turn(o *Outgoing) (umem.Frame, bool) {
	c := q.conn
	head := o.at - o.frame.Offset()
	f := o.frame.WithLen(head + len(o.Payload))
	b, err := q.sock.Area().Bytes(f)
	if err != nil || f.Len() > c.maxFrame() {
		return f, false
	}
	var u packet.UDP
	if u.Decode(b, max(o.frame.Len(), len(b))) != packet.OK {
		return f, false
	}
	n := u.Reply(packet.ReplyConfig{TTL: c.cfg.TTL, TOS: c.tos(o.TOS), Checksum: c.checksum()}, b)
	return f, n == len(b)
}

// byKernel sends a datagram by the companion socket and gives its frame back.
func (q *Queue) byKernel(fl *Flow, st *flowState, o *Outgoing) error {
	if q.pending > 0 && st.kind.Direct() {
		// What went before it on the fast lane leaves before it.
		if _, err := q.flush(); err != nil {
			return err
		}
	}
	if err := q.conn.sendKernel(fl, o.Payload, o.Src, o.TOS); err != nil {
		return err
	}
	o.held, o.Payload = false, nil
	return q.sock.Release([]umem.Frame{o.frame})
}

// sendKernel sends a payload by the companion socket.
func (c *Conn) sendKernel(fl *Flow, payload []byte, src netip.Addr, tos uint8) error {
	out := [1]lane.Outgoing{{Payload: payload, Dst: fl.dst, Src: src, TTL: c.cfg.TTL, TOS: c.tos(tos)}}
	if c.remote.IsValid() {
		out[0].Dst = fl.dst
	}
	n, err := c.lane.Send(out[:])
	switch {
	case err != nil:
		if errors.Is(err, syscall.EMSGSIZE) && c.table != nil {
			c.table.Invalidate() // the kernel has learnt a path MTU
		}
		return err
	case n == 0:
		return syscall.EAGAIN
	}
	fl.slow.Store(true)
	if !c.link.Load().Running() && !fl.dst.Addr().IsLoopback() {
		c.stats.txLinkDown.Add(1)
	}
	c.stats.kernelTx.Add(1)
	c.stats.kernelTxBytes.Add(uint64(len(payload)))
	return nil
}

// settled tells whether the fast lane may be taken without overtaking what the
// flow has sent by the kernel lane: all of that has left the socket.
func (f *Flow) settled() bool {
	if !f.slow.Load() {
		return true
	}
	if left, err := f.conn.lane.Unsent(); err != nil || left > 0 {
		return false
	}
	f.slow.Store(false)
	return true
}

// Flush sends what waits for company.
func (q *Queue) Flush() error {
	if q.sock == nil {
		return q.conn.ended(nil)
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	_, err := q.flush()
	return err
}

// flush is Flush with the lock held.
func (q *Queue) flush() (left int, err error) {
	q.pending = 0
	left, err = q.sock.Flush()
	if left > 0 {
		q.pending = left
	}
	if err != nil {
		err = q.conn.ended(err)
	}
	return left, err
}

// coalesce flushes now, or sees to it that it is done in time. The lock is held.
func (q *Queue) coalesce() error {
	if q.pending == 0 {
		return nil
	}
	co := q.conn.cfg.Coalesce
	if co.Delay == 0 || co.Frames > 0 && q.pending >= co.Frames {
		left, err := q.flush()
		if left > 0 && err == nil {
			q.later(time.Millisecond)
		}
		return err
	}
	q.later(co.Delay)
	return nil
}

// later flushes after d, unless that is planned already. The lock is held.
func (q *Queue) later(d time.Duration) {
	if q.planned {
		return
	}
	q.planned = true
	if q.tail == nil {
		q.tail = time.AfterFunc(d, q.expire)
	} else {
		q.tail.Reset(d)
	}
}

// expire is the end of a delay.
func (q *Queue) expire() {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	q.planned = false
	if q.pending > 0 && q.conn.err.Load() == nil {
		if left, err := q.flush(); left > 0 && err == nil {
			q.later(time.Millisecond)
		}
	}
}
