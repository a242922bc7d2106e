// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"net/netip"
	"syscall"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
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
	at := q.conn.headerRoom
	b, _ := q.sock.Area().Bytes(f.At(at, 0)) // the area's headroom may be more, and is for what is received
	room := b[:cap(b)]
	// Field by field, all of them: a value made first would be copied here.
	o.Payload, o.Rest, o.room, o.Flow = room, nil, room, nil
	o.Dst, o.Src, o.TOS = netip.AddrPort{}, netip.Addr{}, 0
	o.frame, o.at, o.held, o.reply, o.launch = f, at, true, false, 0
	o.use, o.extra = 0, nil
}

// Abort gives up datagrams that will not be sent.
func (q *Queue) Abort(os []Outgoing) (err error) {
	for i := range os {
		if os[i].held && q.sock == nil {
			q.rooms.back(&os[i])
		} else if os[i].held {
			err = keep(err, q.giveUp(&os[i]))
		}
	}
	return err
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
		k, e := q.sendSome(os[n:n+room], n, room)
		n += k
		if e != nil {
			err = errors.Join(err, e)
		}
		if k == 0 {
			break
		}
	}
	if e := q.coalesce(); e != nil {
		err = errors.Join(err, e)
	}
	return n, err
}

// sendSome sends what the ring has room for, and frames are there for. The lock is
// held.
func (q *Queue) sendSome(os []Outgoing, from, room int) (n int, err error) {
	q.free = room
	for ; n < len(os) && len(q.tx) < q.free; n++ {
		e := q.place(&os[n])
		if e == errNoRoom {
			break
		}
		if e != nil {
			err = errors.Join(err, &SendError{from + n, os[n].Dst, e})
		}
	}
	return n, errors.Join(err, q.commit())
}

// commit puts what was placed into the ring. Each frame was checked; what the
// socket refuses all the same (the MTU has shrunk meanwhile, or one was placed
// twice) is lost with a name, and the others go. The lock is held.
func (q *Queue) commit() (err error) {
	st := &q.conn.stats
	for len(q.tx) > 0 {
		k, e := q.sock.SendTracked(q.tx, q.staged)
		packets, bytes := q.packets(k), 0
		for _, n := range q.sizes[:packets] {
			bytes += n
		}
		q.pending += k
		st.fastTx.Add(uint64(packets))
		st.fastTxBytes.Add(uint64(bytes))
		if e == nil && k < len(q.tx) {
			e = errAgain // there was room for all
		}
		if e != nil {
			st.txRefused.Add(1)
			err = errors.Join(err, e)
			k += q.refuse(k)
			packets++
		}
		q.free -= k
		q.tx, q.sizes = append(q.tx[:0], q.tx[k:]...), append(q.sizes[:0], q.sizes[packets:]...)
		if len(q.staged) > 0 {
			q.staged = append(q.staged[:0], q.staged[packets:]...)
		}
	}
	if q.gathered|q.copied != 0 {
		st.gathered.Add(q.gathered)
		st.copied.Add(q.copied)
		q.gathered, q.copied = 0, 0
	}
	return err
}

// packets is how many packets the first k frames of q.tx are.
func (q *Queue) packets(k int) (n int) {
	if len(q.tx) == len(q.sizes) {
		return k
	}
	for _, f := range q.tx[:k] {
		if !f.More() {
			n++
		}
	}
	return n
}

// refuse gives the frames of the packet at k of q.tx back, and returns how many it
// had.
func (q *Queue) refuse(k int) (n int) {
	for _, f := range q.tx[k:] {
		n++
		if !f.Regional() {
			q.sock.Release([]umem.Frame{f})
		}
		if !f.More() {
			break
		}
	}
	return n
}

// place puts a datagram on its lane: into q.tx for the fast one.
func (q *Queue) place(o *Outgoing) error {
	if !o.held {
		return umem.ErrFrame
	}
	if o.extra != nil {
		return q.placeReply(o)
	}
	if o.reply && o.launch == 0 && o.inPlace() && !o.Src.IsValid() && o.Flow == nil {
		if f, ok := q.turn(o); ok {
			q.stage(o, f)
			return nil
		}
	}
	fl := o.Flow
	if fl == nil {
		fl = q.flow(o)
	}
	o.Dst = fl.dst
	st := fl.current()
	if st.err != nil {
		return st.err
	}
	if !st.kind.Direct() || len(o.Payload) > st.most || !fl.settled() {
		return q.byKernel(fl, o)
	}
	if len(o.Payload) > q.conn.payloadRoom() {
		return q.placeLong(o, st)
	}
	f, err := q.stamp(o, &st.tmpl)
	if err != nil {
		return err
	}
	q.stage(o, f)
	return nil
}

// placeLong copies a payload that no frame has room for into several.
func (q *Queue) placeLong(o *Outgoing, st *flowState) error {
	q.parts = append(q.parts[:0], o.Payload)
	if err := q.chain(&outgoing{tmpl: &st.tmpl, total: len(o.Payload), tos: o.TOS, launch: o.launch}); err != nil {
		return err
	}
	o.held, o.Payload = false, nil
	return q.sock.Release([]umem.Frame{o.frame})
}

// flow is where a datagram goes to.
func (q *Queue) flow(o *Outgoing) *Flow {
	if o.Flow != nil {
		return o.Flow
	}
	src := o.Src
	if src == q.conn.local.Addr() {
		src = netip.Addr{}
	}
	return q.conn.to(o.Dst, src)
}

// stage keeps the frame of a datagram for commit. The lock is held.
func (q *Queue) stage(o *Outgoing, f umem.Frame) {
	q.tx, q.sizes = append(q.tx, f), append(q.sizes, len(o.Payload))
	o.held, o.Payload = false, nil
}

// stamp writes the headers before the payload, which is moved only if it lies
// elsewhere.
func (q *Queue) stamp(o *Outgoing, t *packet.Template) (umem.Frame, error) {
	area := q.sock.Area()
	payload, at := o.Payload, o.at
	meta := t.Checksum() == packet.Offload || o.launch != 0
	if !o.inPlace() || at < t.Len() || meta && (o.reply || !aligned(at-t.Len())) {
		at = q.conn.payloadAt(t, o.launch)
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
	if t.Checksum() != packet.Offload && o.launch == 0 { // ask knows it too, and costs a call
		return f, nil
	}
	return ask(area, f, t, o.launch)
}
