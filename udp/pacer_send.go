// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// SendPaced sends datagrams one by one, each when p says that it is due, and returns how
// many it has dealt with: the first n. Of these, what has left has no Payload any more;
// what was refused is still the caller's and is named by a [*SendError] in the error,
// and does not keep the others from going. Any other error ends the call.
//
// It waits: for the times, and for room in the ring. Each datagram is put into the ring
// and kicked when it is due (or, on the kernel lane, given to the socket); Coalesce has
// no say. With launch times, see Config.LaunchClock, those of the fast lane are handed
// over some milliseconds before, many with one kick, and the device sends each when it
// is due.
//
// Errors beside those of Send: the context's; net.ErrClosed when the Conn is closed
// meanwhile; os.ErrDeadlineExceeded at the write deadline of the Conn's PacketConn. ctx
// may be nil. Any number of goroutines may send with one Pacer; what it
// says of them holds.
func (q *Queue) SendPaced(ctx context.Context, os []Outgoing, p *Pacer) (n int, err error) {
	if p == nil {
		return 0, fmt.Errorf("udp: send paced: no pacer: %w", errInvalid)
	}
	for n < len(os) {
		dealt := false
		launch, e := q.pace(ctx, p, q.launches(&os[n]))
		if e == nil {
			dealt, e = q.sendDue(ctx, &os[n], n, launch)
		}
		if dealt {
			n++
		}
		if e == nil {
			q.departed(p, launch)
			continue
		}
		err = errors.Join(err, e)
		if _, refused := e.(*SendError); !refused {
			break
		}
	}
	if e := q.settle(); e != nil {
		err = errors.Join(err, e)
	}
	return n, err
}

// sendDue sends the datagram with number i of its batch, once there is room for it.
// dealt is false if it is as it was.
func (q *Queue) sendDue(ctx context.Context, o *Outgoing, i int, launch time.Duration) (dealt bool, err error) {
	for {
		if q.sock == nil {
			dealt, err = q.sendOneByKernel(o, i)
		} else {
			dealt, err = q.sendOne(o, i, launch)
		}
		if err != errNoRoom {
			return dealt, err
		}
		if err := q.awaitRoom(ctx); err != nil {
			return false, err
		}
	}
}

// sendOne puts a datagram on its lane and kicks it, unless it has a launch time.
func (q *Queue) sendOne(o *Outgoing, i int, launch time.Duration) (dealt bool, err error) {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	if q.free = 0; !q.fits(1) {
		return false, errNoRoom
	}
	o.launch = launch
	err = q.place(o)
	o.launch = 0
	if err == errNoRoom {
		return false, err
	}
	if err != nil {
		return true, &SendError{i, o.Dst, err}
	}
	if err = q.commit(); err == nil && launch == 0 {
		err = q.kick()
	}
	return true, err
}

// sendOneByKernel is sendOne on the kernel lane alone.
func (q *Queue) sendOneByKernel(o *Outgoing, i int) (dealt bool, err error) {
	one := [1]Outgoing{*o}
	n, err := q.sendByKernel(one[:])
	*o = one[0]
	var refused *SendError
	switch {
	case errors.As(err, &refused):
		refused.Index = i
		return true, refused
	case n == 0 && err == nil:
		err = errNoRoom // the socket's buffer is full
	}
	return n > 0, err
}
