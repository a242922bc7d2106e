// SPDX-License-Identifier: MIT

package udp

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// PacketConn is a Conn as programs know a net.UDPConn: it copies, takes one
// datagram a call, and behaves as that does in deadlines, errors, truncation and
// empty datagrams. It has no SyscallConn: options of a socket would not reach the
// fast lane.
//
// What differs from a net.UDPConn on purpose, as TestParity shows with its reasons:
//
//   - An IPv4 peer's address comes out as IPv4 always, never in IPv6 form, and
//     0.0.0.0 as Config.Local means IPv4 alone.
//   - Broadcasting must be asked for, with Config.Broadcast.
//   - Control messages are refused; a zone that names no interface, and a buffer of
//     less than nothing, are errors.
//   - A group needs no route, and is heard also if the Conn is bound to one address.
//   - This host does not hear what the fast lane sends to groups and to all, and
//     whom a connected Conn does not hear gets no answer.
//   - A checksum that a sender left to a virtual device is no wrong one.
//   - A second Conn on the interface finds its queues in use.
//
// Any number of goroutines may use it.
type PacketConn struct {
	c *Conn

	rxMu sync.Mutex // guards what follows
	buf  []Received
	next int // first of buf that nobody has read
	have int // end of what is in buf
}

var (
	_ net.PacketConn = (*PacketConn)(nil)
	_ net.Conn       = (*PacketConn)(nil)
)

// PacketConn returns the Conn as a net.PacketConn, and, if it is connected, a
// net.Conn: the same one each time. Closing it closes the Conn, and the other way
// round. Use no Queue's Receive beside it: each datagram comes to one receiver only.
func (c *Conn) PacketConn() *PacketConn {
	if p := c.packet.Load(); p != nil {
		return p
	}
	c.packet.CompareAndSwap(nil, &PacketConn{c: c, buf: make([]Received, batch)})
	return c.packet.Load()
}

// Conn is the Conn underneath.
func (p *PacketConn) Conn() *Conn { return p.c }

// LocalAddr is a *net.UDPAddr.
func (p *PacketConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(p.c.local) }

// RemoteAddr is the *net.UDPAddr of the peer, or nil if the Conn is not connected.
func (p *PacketConn) RemoteAddr() net.Addr {
	if !p.c.remote.IsValid() {
		return nil
	}
	return net.UDPAddrFromAddrPort(p.c.remote)
}

// Close closes the Conn. Calls that wait return net.ErrClosed.
func (p *PacketConn) Close() error { return p.c.Close() }

// end gives back what nobody has read. The Conn has ended, so nothing comes after.
func (p *PacketConn) end() {
	p.rxMu.Lock()
	defer p.rxMu.Unlock()
	p.drop()
}

// drop gives back what was fetched, read or not. The lock is held.
func (p *PacketConn) drop() error {
	err := p.c.giveBack(p.buf[:p.have])
	p.next, p.have = 0, 0
	return err
}

// SetDeadline sets both deadlines.
func (p *PacketConn) SetDeadline(t time.Time) error {
	return keep(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// SetReadDeadline sets when reads, pending ones included, fail with
// os.ErrDeadlineExceeded. The zero time is never.
func (p *PacketConn) SetReadDeadline(t time.Time) error {
	if err := p.c.ended(nil); err != nil {
		return setError(p.c, err)
	}
	p.c.in.wait.SetDeadline(t)
	return nil
}

// SetWriteDeadline does the same for writes, which wait for frames only.
func (p *PacketConn) SetWriteDeadline(t time.Time) error {
	if err := p.c.ended(nil); err != nil {
		return setError(p.c, err)
	}
	p.c.writes.SetDeadline(t)
	for _, q := range p.c.queues {
		q.sock.SetSendDeadline(t)
	}
	return nil
}

// SetReadBuffer sets the receive buffer of the companion socket. The fast lane's
// rings have the size that they were opened with.
func (p *PacketConn) SetReadBuffer(bytes int) error {
	return p.setBuffer(bytes, p.c.lane.SetReceiveBuffer)
}

// SetWriteBuffer does the same for its send buffer.
func (p *PacketConn) SetWriteBuffer(bytes int) error {
	return p.setBuffer(bytes, p.c.lane.SetSendBuffer)
}

func (p *PacketConn) setBuffer(bytes int, set func(int) error) error {
	if err := p.c.ended(nil); err != nil {
		return setError(p.c, err)
	}
	if err := set(bytes); err != nil {
		return setError(p.c, err)
	}
	return nil
}

// opError gives an error the shape that package net's have: its address is the
// peer's, or none.
func opError(op string, c *Conn, err error) error {
	e := &net.OpError{Op: op, Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Err: err}
	if c.remote.IsValid() {
		e.Addr = net.UDPAddrFromAddrPort(c.remote)
	}
	return e
}

// opErrorTo is opError for a write that was given a destination; nil is none.
func opErrorTo(c *Conn, dst net.Addr, err error) error {
	return &net.OpError{Op: "write", Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Addr: dst, Err: err}
}

// setError is the shape that errors of deadlines and buffers have.
func setError(c *Conn, err error) error {
	return &net.OpError{Op: "set", Net: "udp", Addr: net.UDPAddrFromAddrPort(c.local), Err: err}
}

// addrPort is a destination that was given without a *net.UDPAddr.
type addrPort struct{ netip.AddrPort }

func (addrPort) Network() string { return "udp" }

// errNoPeer is what Write without a peer says, as a socket does.
var errNoPeer = error(syscall.EDESTADDRREQ)
