// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"net"
	"net/netip"
)

// ReadFromUDPAddrPort reads one datagram into b and returns how many bytes were
// copied and where it came from. What does not fit into b is lost.
//
// Errors are *net.OpError: around net.ErrClosed, os.ErrDeadlineExceeded, or what
// ended the Conn.
func (p *PacketConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, src, _, err := p.read(b)
	return n, src, err
}

// ReadMsgUDPAddrPort is ReadFromUDPAddrPort that tells of truncation: flags has
// MSG_TRUNC then. There is never out-of-band data.
func (p *PacketConn) ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, src netip.AddrPort, err error) {
	n, src, short, err := p.read(b)
	if short {
		flags = msgTrunc
	}
	return n, 0, flags, src, err
}

// ReadFrom is ReadFromUDPAddrPort with a *net.UDPAddr, which it allocates.
func (p *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, src, err := p.ReadFromUDPAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(src), nil
}

// ReadFromUDP is ReadFrom with its concrete type.
func (p *PacketConn) ReadFromUDP(b []byte) (int, *net.UDPAddr, error) {
	n, src, err := p.ReadFromUDPAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(src), nil
}

// ReadMsgUDP is ReadMsgUDPAddrPort with a *net.UDPAddr.
func (p *PacketConn) ReadMsgUDP(b, oob []byte) (n, oobn, flags int, src *net.UDPAddr, err error) {
	n, oobn, flags, from, err := p.ReadMsgUDPAddrPort(b, oob)
	if err == nil {
		src = net.UDPAddrFromAddrPort(from)
	}
	return n, oobn, flags, src, err
}

// Read is ReadFrom without the address. Into an empty buffer it reads nothing, as
// readers do; ReadFrom takes a datagram then.
func (p *PacketConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		if err := p.c.ended(nil); err != nil {
			return 0, opError("read", p.c, err)
		}
		return 0, nil
	}
	n, _, err := p.ReadFromUDPAddrPort(b)
	return n, err
}

// msgTrunc is MSG_TRUNC.
const msgTrunc = 0x20

// read takes the next datagram, waiting for one.
func (p *PacketConn) read(b []byte) (n int, src netip.AddrPort, short bool, err error) {
	in := &p.c.in
	for {
		// A deadline that has passed ends the call even if there is data.
		if err := in.wait.Ended(context.Background()); err != nil {
			return 0, src, false, opError("read", p.c, p.c.ended(err))
		}
		n, src, short, ok, err := p.take(b)
		if err != nil {
			return 0, src, false, opError("read", p.c, err)
		}
		if ok {
			return n, src, short, nil
		}
		if err := in.wait.Wait(context.Background(), (*packetSource)(p)); err != nil {
			return 0, src, false, opError("read", p.c, p.c.ended(err))
		}
	}
}

// take copies the next datagram out, if there is one.
func (p *PacketConn) take(b []byte) (n int, src netip.AddrPort, short, ok bool, err error) {
	p.rxMu.Lock()
	defer p.rxMu.Unlock()
	if err := p.c.ended(nil); err != nil {
		return 0, src, false, false, err // Close has given back what was fetched
	}
	if p.next == p.have {
		p.next = 0
		p.have, err = p.c.in.receive(p.buf)
		if err != nil || p.have == 0 {
			return 0, src, false, false, err
		}
		if p.have > 1 {
			p.c.in.wait.Wake() // others who wait have something to read now
		}
	}
	d := &p.buf[p.next]
	n, src, short = copy(b, d.Payload), d.Src, len(b) < len(d.Payload) || d.Truncated
	if d.Rest != nil {
		n, short = d.Copy(b), len(b) < d.Len()
	}
	if p.next++; p.next == p.have {
		err = p.drop()
	}
	return n, src, short, true, err
}

// packetSource is a PacketConn as what a wait is for, a wait.Source: what others
// have fetched counts.
type packetSource PacketConn

func (p *packetSource) Ready() bool { return p.c.in.Ready() || p.fetched() }

func (p *packetSource) Poke() { p.c.in.Poke() }

func (p *packetSource) Descriptors(fds []int) []int {
	if p.fetched() {
		return nil
	}
	return p.c.in.Descriptors(fds)
}

func (p *packetSource) fetched() bool {
	p.rxMu.Lock()
	defer p.rxMu.Unlock()
	return p.next < p.have
}
