// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// outgoing is a datagram for the fast lane whose bytes are q.parts: how to make a
// packet of one or more frames of it.
type outgoing struct {
	tmpl   *packet.Template
	total  int          // bytes of payload
	header int          // of them, those that are copied anyway, q.parts[0]
	slices []umem.Slice // the rest; none: it must be copied
	tos    uint8
	ticket xsk.Ticket
	launch time.Duration // as in Outgoing
}

// errNoRoom is a datagram for which there are no frames, or no room in the ring,
// now: it was not touched.
var errNoRoom = errors.New("no room now")

// errFront is why a piece cannot be sent where it lies by GatherAlways, which does not
// copy.
var errFront = fmt.Errorf("a piece begins where the area keeps room for metadata in its chunk, and GatherAlways does not copy: %w", xsk.ErrMetadata)

// gatherWins is from how many bytes of payload on a datagram is gathered in
// zero-copy mode rather than copied: about what a descriptor costs. Not measured on
// a device.
const gatherWins = 256

// chain puts a datagram into q.tx, gathered or copied. The lock is held.
func (q *Queue) chain(o *outgoing) error {
	info := q.sock.Info() // a large value
	frames, why := q.gather(o, &info)
	gathered := why == nil
	if q.conn.cfg.Gather == GatherAlways && !gathered && len(o.slices) > 0 {
		return why
	}
	if !gathered {
		frames = q.copies(o)
	}
	most := min(info.MaxSegments, cap(q.tx))
	switch {
	case frames > most:
		return ErrPieces
	case frames > 1 && !info.MultiBuffer:
		return errMTU
	case len(q.tx)+frames > cap(q.tx): // with the next batch
		return errNoRoom
	case !q.fits(len(q.tx) + frames):
		return errNoRoom
	}
	own := frames // of the pool
	if gathered {
		own = 1
	}
	if ok, err := q.take(own); !ok {
		if err == nil {
			err = errNoRoom
		}
		return err
	}
	return q.build(o, own, gathered)
}

// fits tells whether the ring has room for n frames, after a flush if need be. It
// asks once a batch.
func (q *Queue) fits(n int) bool {
	if n <= q.free {
		return true
	}
	if q.free = q.sock.Room(cap(q.tx)); n <= q.free {
		return true
	}
	if _, err := q.flush(); err != nil {
		return false // the next flush tells it again
	}
	q.free = q.sock.Room(cap(q.tx))
	return n <= q.free
}

// errCopied is a datagram that is copied because that costs less, or is asked for.
var errCopied = errors.New("copied")

// gather decides whether o is gathered, and tells how many frames that makes, or why
// it is not. Its pieces are in q.region then.
func (q *Queue) gather(o *outgoing, info *xsk.Info) (frames int, why error) {
	policy := q.conn.cfg.Gather
	if policy == GatherCopy || len(o.slices) == 0 || !info.MultiBuffer {
		return 0, errCopied
	}
	if policy == GatherAuto {
		one := q.conn.payloadRoom()
		if info.Mode == xsk.ZeroCopy {
			one = gatherWins
		}
		if o.total <= one {
			return 0, errCopied
		}
	}
	q.region = q.region[:0]
	for _, s := range o.slices {
		q.region = s.Frames(q.region)
	}
	front := q.sock.Area().Info().TxMetadata
	for _, f := range q.region {
		if f.Offset() < front {
			return 0, errFront // the kernel wants room for metadata before each
		}
	}
	if frames = 1 + len(q.region); frames > info.MaxSegments {
		return 0, ErrPieces
	}
	return frames, nil
}

// copies is how many frames a datagram fills that is copied.
func (q *Queue) copies(o *outgoing) int {
	if o.total <= q.conn.payloadRoom() {
		return 1
	}
	room := q.sock.Area().ChunkSize() - q.sock.Area().Front()
	return 1 + (o.total-q.conn.payloadRoom()+room-1)/room
}

// take sees to it that there are n frames in q.spare: not after its end, when nobody
// gives them back any more.
func (q *Queue) take(n int) (bool, error) {
	if q.closed {
		return false, q.conn.ended(net.ErrClosed)
	}
	have := len(q.spare)
	if have >= n {
		return true, nil
	}
	want := max(spares, n)
	for cap(q.spare) < want {
		q.spare = append(q.spare[:cap(q.spare)], umem.Frame{})
	}
	got, err := q.sock.Reserve(q.spare[have:want])
	q.spare = q.spare[:have+got]
	return len(q.spare) >= n, err
}

// build makes the packet of the last frames of q.spare and of q.region, and stages
// it.
func (q *Queue) build(o *outgoing, own int, gathered bool) error {
	area := q.sock.Area()
	at := q.conn.payloadAt(o.tmpl, o.launch)
	begin := len(q.tx)
	first := q.spare[len(q.spare)-1].At(at, 0)
	length := o.header
	if !gathered {
		length = min(o.total, area.ChunkSize()-at)
	}
	f, err := q.head(o, first, length)
	if err != nil {
		return err
	}
	q.tx = append(q.tx, f.WithMore(own > 1 || gathered && len(q.region) > 0))
	if gathered {
		b, err := area.Bytes(f)
		if err != nil {
			q.tx = q.tx[:begin]
			return err
		}
		copy(b[o.tmpl.Len():], q.parts[0])
		q.tx = append(q.tx, q.region...)
	}
	for i := 1; i < own; i++ {
		f := q.spare[len(q.spare)-1-i]
		q.tx = append(q.tx, f.WithLen(area.ChunkSize()-f.Offset()))
	}
	if !gathered {
		if err := q.fill(begin, at, o.total); err != nil {
			q.tx = q.tx[:begin]
			return err
		}
	}
	for i := begin + 1; i < len(q.tx); i++ {
		q.tx[i] = q.tx[i].WithMore(i < len(q.tx)-1)
	}
	q.spare = q.spare[:len(q.spare)-own]
	q.sizes = append(q.sizes, o.total)
	if o.ticket != (xsk.Ticket{}) {
		q.staged = append(q.staged, o.ticket)
	}
	if gathered {
		q.gathered++
	} else if len(o.slices) > 0 {
		q.copied++
	}
	return nil
}

// head writes the headers of a frame with the first length bytes of the payload.
func (q *Queue) head(o *outgoing, f umem.Frame, length int) (umem.Frame, error) {
	area, t := q.sock.Area(), o.tmpl
	f = f.At(f.Offset()-t.Len(), t.Len()+length)
	b, err := area.Bytes(f)
	if err != nil {
		return f, err
	}
	if t.PutSegments(b, q.parts) == 0 {
		return f, errMTU
	}
	if o.tos != 0 {
		t.SetTOS(b, o.tos)
	}
	if t.Checksum() == packet.Offload && length < o.total && area.Info().SoftwareChecksum {
		// The kernel sums the first frame and no more, as it comes before the
		// others (xsk_skb_metadata, net/xdp/xsk.c).
		t.Complete(b, q.parts)
		if o.launch == 0 {
			return f, nil
		}
		return xsk.PutTxMetadata(area, f, xsk.TxMetadata{Launch: o.launch})
	}
	return ask(area, f, t, o.launch)
}

// fill copies q.parts into the frames that q.tx has from begin on, the first of
// which has its payload at offset at.
func (q *Queue) fill(begin, at, total int) error {
	area := q.sock.Area()
	part, off := 0, 0
	for i := begin; i < len(q.tx); i++ {
		b, err := area.Bytes(q.tx[i])
		if err != nil {
			return err
		}
		if i == begin {
			b = b[at-q.tx[i].Offset():]
		}
		n := 0
		for n < len(b) && part < len(q.parts) {
			k := copy(b[n:], q.parts[part][off:])
			n, off = n+k, off+k
			if off == len(q.parts[part]) {
				part, off = part+1, 0
			}
		}
		if i > begin {
			q.tx[i] = q.tx[i].WithLen(n)
		}
		total -= n
	}
	if total != 0 {
		return errMTU
	}
	return nil
}
