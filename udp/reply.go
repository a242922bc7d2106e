// SPDX-License-Identifier: MIT

package udp

import (
	"errors"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
)

// Reply turns d into a datagram to its sender, in the same frames: addresses and
// ports change places and the payload, if o.Payload and o.Rest are left as they are,
// goes back. It can be cut, or extended to its capacity. d is gone, as if released.
//
// A datagram of the kernel lane, to a group, or of another queue is copied into a
// reserved frame; without one free the error is ErrNoFrames and d stays.
func (q *Queue) Reply(d *Received, o *Outgoing) error {
	if !d.held {
		return umem.ErrFrame
	}
	if d.Lane == Fast && d.from == q && !d.Dst.Addr().IsMulticast() {
		if x := d.extra; x != nil && !x.end(d.use) {
			return umem.ErrFrame
		}
		*o = Outgoing{
			Payload: d.Payload, Rest: d.Rest, Dst: d.Src, room: d.Payload, frame: d.frame,
			at: int(d.head) + d.frame.Offset(), held: true, reply: true, extra: d.extra,
		}
		if o.extra != nil {
			o.use = o.extra.uses.Load()
		}
		d.held, d.Payload, d.Rest, d.extra = false, nil, nil, nil
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
	if n := d.Len(); n > len(o.Payload) {
		o.Payload = make([]byte, n) // Send copies
	}
	o.Payload = o.Payload[:d.Copy(o.Payload)]
	gone := [1]Received{*d}
	err := q.conn.giveBack(gone[:])
	*d = gone[0] // not held any more
	return err
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

// placeReply is place for a reply to a datagram of several frames. The lock is held.
func (q *Queue) placeReply(o *Outgoing) error {
	if o.extra.uses.Load() != o.use {
		return umem.ErrFrame
	}
	if o.launch == 0 && o.inPlace() && !o.Src.IsValid() && o.Flow == nil {
		if err := q.turnChain(o); err != errNotTurned {
			return err
		}
	}
	q.parts = append(append(q.parts[:0], o.Payload), o.segments()...)
	total := 0
	for _, p := range q.parts {
		total += len(p)
	}
	if err := q.copyReply(o, total); err != nil {
		return err
	}
	return q.giveUp(o)
}

// copyReply sends q.parts, of total bytes, by frames of its own or by the kernel lane.
func (q *Queue) copyReply(o *Outgoing, total int) error {
	fl := q.flow(o)
	o.Dst = fl.dst
	st := fl.current()
	if st.err != nil {
		return st.err
	}
	if st.kind.Direct() && total <= st.most && fl.settled() {
		return q.chain(&outgoing{tmpl: &st.tmpl, total: total, tos: o.TOS, launch: o.launch})
	}
	if err := q.ahead(); err != nil {
		return err
	}
	return q.conn.sendKernel(fl, q.flatten(), o.Src, o.TOS)
}

// errNotTurned is a reply that does not leave in the frames that it came in.
var errNotTurned = errors.New("not in place")

// turnChain is turn and stage for several frames, as many as what goes back is in.
func (q *Queue) turnChain(o *Outgoing) error {
	c, area, rest := q.conn, q.sock.Area(), o.segments()
	info := q.sock.Info()
	if 1+len(rest) > info.MaxSegments || len(rest) > len(o.extra.frames) || len(rest) > 0 && !info.MultiBuffer {
		return errNotTurned
	}
	head := o.at - o.frame.Offset()
	first := o.frame.WithLen(head + len(o.Payload)).WithMore(len(rest) > 0)
	b, err := area.Bytes(first)
	if err != nil {
		return err
	}
	came, length := o.frame.Len(), first.Len()
	for i, f := range o.extra.frames {
		came += f.Len()
		if i >= len(rest) {
			continue
		}
		if whole, err := area.Bytes(f); err != nil || len(rest[i]) == 0 || len(rest[i]) > len(whole) || &rest[i][0] != &whole[0] {
			return keep(err, errNotTurned)
		}
		length += len(rest[i])
	}
	if length > c.maxFrame() {
		return errNotTurned
	}
	if n := len(q.tx) + 1 + len(rest); n > cap(q.tx) || !q.fits(n) {
		return errNoRoom
	}
	var u packet.UDP
	cfg := packet.ReplyConfig{TTL: c.cfg.TTL, TOS: c.tos(o.TOS), Checksum: c.checksum()}
	if u.Decode(b, max(came, length)) != packet.OK || u.Reply(cfg, b, rest...) != length {
		return errNotTurned
	}
	q.tx = append(q.tx, first)
	for i := range rest {
		q.tx = append(q.tx, o.extra.frames[i].WithLen(len(rest[i])).WithMore(i < len(rest)-1))
	}
	q.sizes = append(q.sizes, length-head)
	return q.forget(o, o.extra.frames[len(rest):])
}

// giveUp releases the frames of a datagram that will not be sent from them.
func (q *Queue) giveUp(o *Outgoing) error {
	if o.extra != nil {
		if o.extra.uses.Load() != o.use {
			o.held, o.Payload, o.Rest, o.extra = false, nil, nil, nil
			return umem.ErrFrame
		}
		err := q.sock.Release([]umem.Frame{o.frame})
		return keep(err, q.forget(o, o.extra.frames))
	}
	o.held, o.Payload = false, nil
	return q.sock.Release([]umem.Frame{o.frame})
}

// forget lets a reply go, and releases those of its frames that stay behind.
func (q *Queue) forget(o *Outgoing, frames []umem.Frame) (err error) {
	x := o.extra
	if !x.end(o.use) {
		return umem.ErrFrame
	}
	if len(frames) > 0 {
		err = q.sock.Release(frames)
	}
	x.frames = x.frames[:0]
	q.conn.scratch.drop(x.push(nil))
	o.held, o.Payload, o.Rest, o.extra = false, nil, nil, nil
	return err
}
