// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// GatherPolicy says how datagrams of several pieces get into the TX ring.
type GatherPolicy int

const (
	// GatherAuto takes what costs less. A second descriptor is dear in copy mode,
	// where the kernel copies everything anyway: there a datagram that fits into
	// one frame is copied into it, and a larger one is gathered. In zero-copy mode
	// all but small ones are gathered.
	GatherAuto GatherPolicy = iota
	// GatherAlways sends slices where they lie, by descriptors of their own.
	GatherAlways
	// GatherCopy copies them into frames.
	GatherCopy
)

// Gather is a datagram to send that is put together from pieces.
type Gather struct {
	// Header goes first, and is copied: the application's own header, no longer
	// than Conn.PayloadRoom. May be empty.
	Header []byte
	// Slices follow, of regions of the queue's area (Config.Area), in this order,
	// at any offset and of any length. They are only read, and must not change
	// until their cookie is back.
	Slices []umem.Slice
	// Flow is where it goes to; or, if nil, Dst is, at the cost of a look-up.
	Flow *Flow
	Dst  netip.AddrPort
	// TOS overrides Config.TOS if it is not 0.
	TOS uint8
	// Cookie, if not 0, is returned by Queue.Completed when nobody reads the
	// slices any more.
	Cookie uint64

	launch time.Duration // as in Outgoing
}

// ErrCookies is a send whose cookie has no room, because too many have not been
// taken with Queue.Completed.
var ErrCookies = errors.New("65536 cookies are under way or were not taken with Completed")

// ErrPieces is a datagram that needs more descriptors than the socket takes, and
// must be gathered. It is an EMSGSIZE.
var ErrPieces = piecesError{}

type piecesError struct{}

func (piecesError) Error() string        { return "more descriptors than a packet may have" }
func (piecesError) Is(target error) bool { return target == errMTU }

// SendGather sends datagrams from pieces and returns how many of them it has dealt
// with, as [Queue.Send] does: what was refused is named by a [*SendError], its
// cookie does not come, and the others go. A datagram goes whole or not at all.
//
// What takes the kernel lane is copied, and so is what Config.Gather says; its
// cookie is due at once.
//
// Errors, beside those of Send: ErrPieces; ErrCookies, which ends the batch;
// umem.ErrFrame for a slice of another area; xsk.ErrMetadata with GatherAlways, for
// one that begins in its chunk where an area with metadata keeps room for them.
func (q *Queue) SendGather(gs []Gather) (n int, err error) {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	for n < len(gs) {
		k, e := q.gatherSome(gs[n:min(n+batch, len(gs))], n)
		n += k
		if e != nil {
			err = errors.Join(err, e)
		}
		if k == 0 {
			break
		}
	}
	if q.sock != nil {
		if e := q.coalesce(); e != nil {
			err = errors.Join(err, e)
		}
	}
	return n, err
}

// gatherSome sends the first of gs, as many as there are tickets, frames and room
// in the ring for. The lock is held.
func (q *Queue) gatherSome(gs []Gather, from int) (n int, err error) {
	if q.sock == nil {
		return q.gatherByKernel(gs, from)
	}
	q.free = 0
	tickets, cookies := q.tickets[:len(gs)], q.cookies[:len(gs)]
	open, err := q.sock.Track(tickets)
	if err != nil {
		return 0, q.conn.ended(err)
	}
	if open == 0 {
		return 0, ErrCookies
	}
	for n < open {
		g := &gs[n]
		cookies[n] = g.Cookie
		e := q.placeGather(g, tickets[n])
		if errors.Is(e, errNoRoom) {
			break
		}
		if e != nil {
			cookies[n] = 0
			err = errors.Join(err, &SendError{from + n, g.Dst, e})
		}
		n++
	}
	err = errors.Join(err, q.commit())
	clear(cookies[n:open])
	return n, errors.Join(err, q.sock.Seal(tickets[:open], cookies[:open]))
}

// placeGather puts a datagram on its lane. The lock is held.
func (q *Queue) placeGather(g *Gather, ticket xsk.Ticket) error {
	fl := g.Flow
	if fl == nil {
		fl = q.conn.to(g.Dst, netip.Addr{})
	}
	g.Dst = fl.dst
	total, err := q.collect(g)
	if err != nil {
		return err
	}
	if q.sock == nil {
		return q.partsByKernel(fl, total, g.TOS)
	}
	st := fl.current()
	switch {
	case st.err != nil:
		return st.err
	case !st.kind.Direct() || total > st.most || !fl.settled():
		return q.partsByKernel(fl, total, g.TOS)
	}
	return q.chain(&outgoing{tmpl: &st.tmpl, total: total, header: len(g.Header), slices: g.Slices, tos: g.TOS, ticket: ticket, launch: g.launch})
}

// collect puts the bytes of a datagram into q.parts and returns how many they are.
func (q *Queue) collect(g *Gather) (total int, err error) {
	q.parts = append(q.parts[:0], g.Header)
	total = len(g.Header)
	area := q.conn.cfg.Area
	if q.sock != nil {
		area = q.sock.Area()
	}
	for i := range g.Slices {
		s := &g.Slices[i]
		if area != nil && !s.In(area) {
			return 0, errNotHeld
		}
		total += s.Len()
		q.parts = append(q.parts, s.Bytes())
	}
	if len(g.Header) > q.conn.payloadRoom() {
		return 0, errMTU
	}
	return total, nil
}

// partsByKernel sends q.parts, of total bytes, by the companion socket. The lock is
// held.
func (q *Queue) partsByKernel(fl *Flow, total int, tos uint8) error {
	if total > maxPacket { // no datagram is as long; q.flat need not be, for ever
		return errMTU
	}
	if q.sock != nil {
		if err := q.ahead(); again(err) {
			return errNoRoom // what goes before has not left yet
		} else if err != nil {
			return err
		}
	}
	err := q.conn.sendKernel(fl, q.flatten(), netip.Addr{}, tos)
	if again(err) {
		return errNoRoom
	}
	if err == nil {
		q.conn.stats.copied.Add(1)
	}
	return err
}

// flatten is q.parts as one piece, until it is called again.
func (q *Queue) flatten() []byte {
	q.flat = q.flat[:0]
	for _, p := range q.parts {
		q.flat = append(q.flat, p...)
	}
	return q.flat
}

// gatherByKernel is gatherSome on the kernel lane alone.
func (q *Queue) gatherByKernel(gs []Gather, from int) (n int, err error) {
	if e := q.conn.ended(nil); e != nil {
		return 0, e
	}
	for ; n < len(gs); n++ {
		g := &gs[n]
		if len(q.due) >= maxDue {
			return n, errors.Join(err, ErrCookies)
		}
		e := q.placeGather(g, xsk.Ticket{})
		switch {
		case errors.Is(e, errNoRoom):
			return n, err
		case e != nil:
			err = errors.Join(err, &SendError{from + n, g.Dst, e})
		case g.Cookie != 0:
			q.due = append(q.due, g.Cookie)
		}
	}
	return n, err
}

// maxDue bounds the cookies that are kept on the kernel lane alone.
const maxDue = 1 << 16

// Completed returns cookies of datagrams whose slices nobody reads any more, and
// how many, without waiting. After Close all of them are due.
func (q *Queue) Completed(cookies []uint64) int {
	if q.sock != nil {
		return q.sock.Completed(cookies)
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	n := copy(cookies, q.due)
	q.due = q.due[:copy(q.due, q.due[n:])]
	return n
}
