// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"

	"github.com/xdpath/xdpath/umem"
)

// maxTickets bounds the tickets that are given out and the cookies that nobody
// has taken: for who never takes any.
const maxTickets = 1 << 16

// ErrTicket is a ticket that was sealed, or that the socket did not give out.
var ErrTicket = errors.New("not an open ticket of the socket")

// Track gives out tickets and returns how many: fewer than asked for when 65536
// are open or have a cookie that [Socket.Completed] has not returned yet.
//
// A ticket tells when bytes that are sent where they lie, a [umem.Slice], are
// free again: packets are sent with it (SendTracked), it is sealed when no more
// will follow (Seal), and when the kernel has completed the last descriptor of
// them all, the cookie that it was sealed with is returned by Completed.
// Completion does not say that a packet has arrived, nor that it has left: a
// device that drops it completes it. Every ticket must be sealed.
//
// Sockets of one queue share the completion ring, and with it tickets and cookies.
//
// Errors: net.ErrClosed after Close; ErrDirection.
func (s *Socket) Track(tickets []Ticket) (n int, err error) {
	switch {
	case s.closed.Load():
		return 0, s.errClosed("track")
	case s.tx == nil:
		return 0, s.errorf("track", ErrDirection)
	}
	p := s.rings
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	n = min(len(tickets), maxTickets-p.track.open())
	for i := range n {
		tickets[i] = p.track.begin()
	}
	return n, nil
}

// SendTracked is [Socket.Send] of packets with tickets: the first packet with the
// first of them and so on. Packets without, and with the zero Ticket, are not
// tracked. A ticket may stand for several packets.
//
// Errors: those of Send; ErrTicket, before anything is sent.
func (s *Socket) SendTracked(frames []umem.Frame, tickets []Ticket) (n int, err error) {
	return s.send(frames, tickets)
}

// Seal says that no more packets will be sent with the tickets, and gives each its
// cookie, which is due at once if its packets are complete. Cookie 0 is none: nobody
// waits.
//
// Errors: ErrTicket for one that was sealed before; the others are sealed all the
// same.
func (s *Socket) Seal(tickets []Ticket, cookies []uint64) (err error) {
	p := s.rings
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	for i, k := range tickets {
		switch {
		case p.track.valid(k):
			p.track.seal(k, cookies[i])
		case !s.closed.Load():
			err = s.errorf("seal", ErrTicket)
		}
	}
	return err
}

// Completed returns cookies of sealed tickets whose last descriptor the kernel has
// completed, and how many: their bytes are free. It does not wait, and reaps
// first. It works after Close too, which completes everything.
func (s *Socket) Completed(cookies []uint64) int {
	if !s.closed.Load() {
		s.reapAndWake()
	}
	p := s.rings
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	return p.track.take(cookies)
}

// follow registers the descriptors of frames with their tickets, before the
// kernel can see them. The lock for sending is held.
func (p *pair) follow(frames []umem.Frame, tickets []Ticket) {
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	packet := 0
	for _, f := range frames {
		if packet == len(tickets) {
			return
		}
		if k := tickets[packet]; k != (Ticket{}) {
			p.track.add(p.area.Address(f), k)
		}
		if !f.More() {
			packet++
		}
	}
}

// openTickets tells whether all of the tickets may be sent with.
func (p *pair) openTickets(tickets []Ticket) bool {
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	for _, k := range tickets {
		if k != (Ticket{}) && !p.track.valid(k) {
			return false
		}
	}
	return true
}
