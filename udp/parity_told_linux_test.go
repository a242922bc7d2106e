// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// who names an address as rows do.
func (r *rig) who(a netip.AddrPort) string {
	switch a {
	case r.us(), r.us6():
		return "us"
	case r.them(), r.them6():
		return "them"
	}
	return r.place(a.Addr()) + r.portName(a.Port())
}

// place names an IP address. Package net keeps the names of interfaces for a
// minute, whatever the namespace, so a zone that it tells may be from anywhere;
// ours must be right.
func (r *rig) place(a netip.Addr) string {
	text := a.WithZone("").String()
	switch {
	case a.Is6() && a.IsLinkLocalUnicast():
		text = "fe80"
	case a == r.pair.A.IP4 || a == r.pair.A.IP6:
		text = "A"
	case a == r.pair.B.IP4 || a == r.pair.B.IP6:
		text = "B"
	}
	switch zone := a.Zone(); {
	case zone == "":
	case zone == r.pair.B.Name, r.kind == kernelSocket:
		text += "%interface"
	default:
		text += "%" + zone
	}
	return text
}

func (r *rig) portName(p uint16) string {
	switch {
	case p == r.port:
		return ":us"
	case p >= r.peerPort && p < r.peerPort+10:
		return fmt.Sprintf(":them+%d", p-r.peerPort)
	case p >= 32768 && p != 0x1234 && p != 0x3412:
		return ":any"
	}
	return fmt.Sprintf(":%d", p)
}

// addr names a net.Addr and its type.
func (r *rig) addr(a net.Addr) string {
	switch a := a.(type) {
	case nil:
		return "nil"
	case *net.UDPAddr:
		if a == nil {
			return "nil *net.UDPAddr"
		}
		return fmt.Sprintf("*net.UDPAddr %s with %d bytes", r.who(unmapped(a.AddrPort())), len(a.IP))
	}
	return fmt.Sprintf("%T %v", a, a)
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// datagram says what a read returned.
func (r *rig) datagram(b []byte, src netip.AddrPort, err error) string {
	if err != nil {
		if len(b) > 0 || src.IsValid() {
			return fmt.Sprintf("%d bytes from %v and %s", len(b), src, r.told(err))
		}
		return r.told(err)
	}
	if len(b) > 40 {
		return fmt.Sprintf("%d bytes from %s", len(b), r.who(src))
	}
	return fmt.Sprintf("%q from %s", b, r.who(src))
}

// result says what a read or write without an address returned.
func (r *rig) result(n int, err error) string {
	if err == nil {
		return fmt.Sprint(n)
	}
	if n != 0 {
		return fmt.Sprintf("%d and %s", n, r.told(err))
	}
	return r.told(err)
}

// told says what an error is: operation, source, destination, cause. What package
// net puts between its own error and the kernel's, the name of a system call, is
// left out: ours may have made none.
func (r *rig) told(err error) string {
	if err == nil {
		return "ok"
	}
	op, ok := err.(*net.OpError)
	if !ok {
		return "bare " + cause(err)
	}
	from, to := "-", "-"
	if op.Source != nil {
		from = r.side(op.Source)
	}
	if op.Addr != nil {
		to = r.side(op.Addr)
	}
	text := fmt.Sprintf("%s %s %s>%s %s", op.Op, op.Net, from, to, cause(op.Err))
	if op.Timeout() {
		text += " timeout"
	}
	return text
}

// side names an address in an error.
func (r *rig) side(a net.Addr) string {
	if a.Network() != "udp" {
		return a.Network() + " " + a.String()
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	return r.who(unmapped(ap))
}

// cause names what is at the bottom of an error.
func cause(err error) string {
	var errno syscall.Errno
	var addr *net.AddrError
	switch {
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "deadline"
	case errors.Is(err, net.ErrWriteToConnected):
		return "connected"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	case errors.As(err, &addr):
		return "address: " + addr.Err
	}
	return err.Error()
}
