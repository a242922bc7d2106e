// SPDX-License-Identifier: MIT

package udp

import (
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
)

// Reply turns d into a datagram to its sender, in the same frame: addresses and
// ports change places and the payload, if o.Payload is left as it is, goes back.
// It can be cut, or extended to its capacity. d is gone, as if released.
//
// A datagram of the kernel lane, to a group, of another queue, or larger than a
// chunk is copied; without a free frame the error is ErrNoFrames and d stays.
func (q *Queue) Reply(d *Received, o *Outgoing) error {
	if !d.held {
		return umem.ErrFrame
	}
	if d.Lane == Fast && d.from == q && d.extra == nil && !d.Dst.Addr().IsMulticast() {
		*o = Outgoing{Payload: d.Payload, Dst: d.Src, room: d.Payload, frame: d.frame, at: int(d.head) + d.frame.Offset(), held: true, reply: true}
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
