// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// WriteToUDPAddrPort sends b to dst and returns len(b). It waits for a frame if
// all are in transmission.
//
// Errors are *net.OpError, as net.UDPConn has them: around EMSGSIZE, ENETUNREACH,
// EHOSTUNREACH, EACCES (broadcast), net.ErrWriteToConnected, net.ErrClosed,
// os.ErrDeadlineExceeded.
func (p *PacketConn) WriteToUDPAddrPort(b []byte, dst netip.AddrPort) (int, error) {
	n, err := p.writeTo(b, dst)
	if err != nil {
		err = opErrorTo(p.c, addrPort{dst}, err)
	}
	return n, err
}

// WriteTo is WriteToUDPAddrPort for a *net.UDPAddr.
func (p *PacketConn) WriteTo(b []byte, dst net.Addr) (int, error) {
	a, ok := dst.(*net.UDPAddr)
	if !ok {
		return 0, opErrorTo(p.c, dst, fmt.Errorf("address of type %T, not *net.UDPAddr: %w", dst, errInvalid))
	}
	return p.WriteToUDP(b, a)
}

// WriteToUDP is WriteTo with the concrete type.
func (p *PacketConn) WriteToUDP(b []byte, dst *net.UDPAddr) (int, error) {
	n, err := p.writeTo(b, p.c.destination(dst))
	if err != nil {
		err = opErrorTo(p.c, opAddr(dst), err)
	}
	return n, err
}

// WriteMsgUDPAddrPort is WriteToUDPAddrPort, or Write if dst is not valid.
// Out-of-band data is refused.
func (p *PacketConn) WriteMsgUDPAddrPort(b, oob []byte, dst netip.AddrPort) (n, oobn int, err error) {
	if n, err = p.writeMsg(b, oob, dst); err != nil {
		err = opErrorTo(p.c, addrPort{dst}, err)
	}
	return n, 0, err
}

// WriteMsgUDP is WriteMsgUDPAddrPort for a *net.UDPAddr, or nil.
func (p *PacketConn) WriteMsgUDP(b, oob []byte, dst *net.UDPAddr) (n, oobn int, err error) {
	if n, err = p.writeMsg(b, oob, p.c.destination(dst)); err != nil {
		err = opErrorTo(p.c, opAddr(dst), err)
	}
	return n, 0, err
}

// Write sends b to the peer of a connected Conn.
func (p *PacketConn) Write(b []byte) (n int, err error) {
	if p.c.remote.IsValid() {
		n, err = p.write(b, p.c.remote)
	} else if err = p.c.mayWrite(); err == nil {
		err = errNoPeer
	}
	if err != nil {
		err = opError("write", p.c, err)
	}
	return n, err
}

// opAddr keeps a nil pointer from becoming an address.
func opAddr(a *net.UDPAddr) net.Addr {
	if a == nil {
		return nil
	}
	return a
}

// destination is what package net takes a for: an address without an IP is this
// host, and so is 0.0.0.0 on a socket for both families.
func (c *Conn) destination(a *net.UDPAddr) netip.AddrPort {
	switch {
	case a == nil:
		return netip.AddrPort{}
	case c.local.Addr().Is6() && (len(a.IP) == 0 || a.IP.Equal(net.IPv4zero)):
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(a.Port))
	case len(a.IP) == 0:
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(a.Port))
	}
	return a.AddrPort()
}

func (p *PacketConn) writeMsg(b, oob []byte, dst netip.AddrPort) (int, error) {
	switch {
	case len(oob) > 0:
		return 0, fmt.Errorf("out-of-band data: %w", errUnsupported)
	case p.c.remote.IsValid() && !dst.IsValid():
		return p.write(b, p.c.remote)
	}
	return p.writeTo(b, dst)
}

func (p *PacketConn) writeTo(b []byte, dst netip.AddrPort) (int, error) {
	if p.c.remote.IsValid() {
		return 0, net.ErrWriteToConnected
	}
	if err := p.c.suits(dst); err != nil {
		return 0, err
	}
	return p.write(b, dst)
}

// mayWrite tells why nothing can be written now: the Conn has ended, the deadline
// is over, or ICMP has told something of the peer.
func (c *Conn) mayWrite() error {
	if err := c.writes.Ended(context.Background()); err != nil {
		return c.ended(err)
	}
	if !c.remote.IsValid() {
		return nil
	}
	// ICMP comes to the companion socket. That costs a system call to ask, so a
	// write finds it out a moment later than a socket's would.
	now, at := int64(time.Since(epoch)), c.heardAt.Load()
	if now-at < int64(laneInterval) || !c.heardAt.CompareAndSwap(at, now) {
		return nil
	}
	return c.ended(c.lane.Errors())
}

// suits tells why a datagram to dst cannot be sent from the Conn's address.
func (c *Conn) suits(dst netip.AddrPort) error {
	a := dst.Addr()
	switch {
	case !a.IsValid():
		return errMissing
	case c.local.Addr().Is4() && a.Is6() && !a.Is4In6():
		return &net.AddrError{Err: "non-IPv4 address", Addr: a.String()}
	case dst.Port() == 0:
		return keep(c.mayWrite(), errInvalid)
	case c.local.Addr().Is6() && !c.local.Addr().IsUnspecified() && a.Unmap().Is4():
		return keep(c.mayWrite(), errUnreachable)
	}
	return nil
}

// write sends b to dst, which suits. The error has no shape yet.
func (p *PacketConn) write(b []byte, dst netip.AddrPort) (int, error) {
	c := p.c
	if err := c.mayWrite(); err != nil {
		return 0, err
	}
	fl := c.to(dst, netip.Addr{})
	if len(c.queues) == 0 {
		if err := c.kernelWrite(fl, b); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	q := c.queues[int(fl.queue)%len(c.queues)]
	for {
		switch sent, err := q.write(fl, b); {
		case errors.Is(err, errOtherLane):
			if err := c.kernelWrite(fl, b); err != nil {
				return 0, c.ended(err)
			}
			return len(b), nil
		case err != nil:
			return 0, c.ended(err)
		case sent:
			return len(b), nil
		}
		if err := q.await(); err != nil {
			return 0, c.ended(err)
		}
	}
}

// errOtherLane is a datagram that the fast lane does not take.
var errOtherLane = errors.New("for the kernel lane")

// await waits for what a write lacks: a frame, which it keeps ready, or room in
// the ring.
func (q *Queue) await() error {
	q.txMu.Lock()
	ready := len(q.spare) > 0
	q.txMu.Unlock()
	if ready {
		return q.conn.writes.Sleep(context.Background(), ringNap)
	}
	var one [1]umem.Frame
	n, err := q.sock.ReserveContext(context.Background(), one[:])
	q.txMu.Lock()
	defer q.txMu.Unlock()
	if n > 0 && q.closed {
		return errors.Join(net.ErrClosed, q.sock.Release(one[:]))
	}
	if n > 0 {
		q.spare = append(q.spare, one[0])
	}
	return notLost(err)
}

// ringNap is how long a write waits before it looks at a full ring again.
const ringNap = 50 * time.Microsecond

// write sends one datagram; false means that there is no frame for it, or no room
// in the ring, and errOtherLane that it is the kernel lane's, before which nothing
// is left on the fast one.
func (q *Queue) write(fl *Flow, b []byte) (sent bool, err error) {
	st := fl.current()
	if st.err != nil {
		return false, st.err
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	if q.closed {
		return false, net.ErrClosed
	}
	if !st.kind.Direct() || len(b) > st.most || !fl.settled() {
		return false, keep(q.ahead(), errOtherLane)
	}
	if len(b) > q.conn.payloadRoom() {
		return q.writeLong(st, b)
	}
	if ok, err := q.take(1); !ok {
		return false, err
	}
	if q.sock.Room(1) == 0 {
		if err := q.push(); err != nil {
			return false, err
		}
		if q.sock.Room(1) == 0 {
			return false, nil
		}
	}
	last := len(q.spare) - 1
	o := Outgoing{Payload: b, frame: q.spare[last]}
	f, err := q.stamp(&o, &st.tmpl)
	if err != nil {
		return false, err
	}
	q.spare = q.spare[:last]
	q.stage(&o, f)
	if err := q.commit(); err != nil {
		return false, err
	}
	return true, notLost(q.coalesce())
}

// writeLong is write for what no frame has room for. The lock is held.
func (q *Queue) writeLong(st *flowState, b []byte) (sent bool, err error) {
	q.free, q.parts = 0, append(q.parts[:0], b)
	switch err := q.chain(&outgoing{tmpl: &st.tmpl, total: len(b)}); {
	case err == errNoRoom:
		return false, nil
	case err != nil:
		return false, err
	}
	if err := q.commit(); err != nil {
		return false, err
	}
	return true, notLost(q.coalesce())
}

// push is flush for a write.
func (q *Queue) push() error {
	_, err := q.flush()
	return notLost(err)
}

// notLost makes no error of datagrams that the device lost, as it does while the
// link has no carrier: the socket counts them in TxLost, and a kernel socket would
// not tell either.
func notLost(err error) error {
	if errors.Is(err, xsk.ErrLost) {
		return nil
	}
	return err
}

// kernelWrite sends by the companion socket, waiting for room in its buffer.
func (c *Conn) kernelWrite(fl *Flow, b []byte) error {
	for {
		err := c.sendKernel(fl, b, netip.Addr{}, 0)
		if !errors.Is(err, errAgain) {
			return err
		}
		if err := c.writes.Sleep(context.Background(), laneInterval); err != nil {
			return err
		}
	}
}
