// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"fmt"
	"net/netip"
)

// Config says what to open. The zero Config is a socket for IPv4 and IPv6 on a
// port of the kernel's choice.
type Config struct {
	// Local is the address and port to bind. Without an address, or with the
	// unspecified IPv6 address, the socket takes both families, as
	// net.ListenPacket("udp", ":0") does; without an address it is for IPv4 alone
	// where the machine has no IPv6, or where Remote is IPv4. Port 0 is any port.
	// A link-local address has a zone: the interface's name or number.
	Local netip.AddrPort
	// Remote, if valid, is the one peer: the kernel takes datagrams from it only,
	// sends to it what has no destination of its own, and tells of its ICMP errors.
	Remote netip.AddrPort
	// IPv6Only keeps IPv4 away from an IPv6 socket, as network "udp6" does.
	IPv6Only bool
	// Broadcast permits sending to broadcast addresses; without it the kernel
	// answers EACCES.
	Broadcast bool
	// ReceiveBuffer and SendBuffer are the socket's buffers in bytes, as for
	// SetReadBuffer of package net; 0 leaves the system's defaults. With
	// CAP_NET_ADMIN they may exceed the system's limits. Info tells what was got.
	ReceiveBuffer, SendBuffer int
	// GRO lets the kernel hand over several datagrams of one flow at once. They
	// still come out one by one. Info tells whether the kernel does it.
	GRO bool
	// Timestamps fills Message.Received.
	Timestamps bool
	// Buffers is how many datagrams, or bundles with GRO, can be held at a time:
	// 64 if zero, at most 4096. BufferSize is the length of each in bytes, 65,536
	// if zero, which no UDP datagram exceeds. Memory is used as it is touched.
	Buffers, BufferSize int
}

const (
	defaultBuffers = 64
	maxBuffers     = 4096
	maxDatagram    = 1 << 16 // above any UDP payload and any bundle of them
)

func (c Config) withDefaults() Config {
	if c.Buffers == 0 {
		c.Buffers = defaultBuffers
	}
	if c.BufferSize == 0 {
		c.BufferSize = maxDatagram
	}
	c.Local, c.Remote = unmap(c.Local), unmap(c.Remote)
	return c
}

// unmap takes an IPv4 address out of its IPv6 form.
func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func (c Config) validate() error {
	var errs []error
	local, remote := c.Local.Addr(), c.Remote.Addr()
	if local.Is4() && remote.Is6() {
		errs = append(errs, fmt.Errorf("lane: Config.Remote %v: want an IPv4 address, as Local %v is one", c.Remote, local))
	}
	if c.IPv6Only && (local.Is4() || remote.Is4()) {
		errs = append(errs, fmt.Errorf("lane: Config.IPv6Only: Local %v and Remote %v must not be IPv4", local, remote))
	}
	if c.ReceiveBuffer < 0 {
		errs = append(errs, fmt.Errorf("lane: Config.ReceiveBuffer %d: want 0 for the default, or bytes", c.ReceiveBuffer))
	}
	if c.SendBuffer < 0 {
		errs = append(errs, fmt.Errorf("lane: Config.SendBuffer %d: want 0 for the default, or bytes", c.SendBuffer))
	}
	if c.Buffers < 1 || c.Buffers > maxBuffers {
		errs = append(errs, fmt.Errorf("lane: Config.Buffers %d: want 1 to %d", c.Buffers, maxBuffers))
	}
	if c.BufferSize < 1 || c.BufferSize > maxDatagram {
		errs = append(errs, fmt.Errorf("lane: Config.BufferSize %d: want 1 to %d bytes", c.BufferSize, maxDatagram))
	}
	if c.GRO && c.BufferSize < maxDatagram {
		// A bundle in a smaller buffer loses whole datagrams.
		errs = append(errs, fmt.Errorf("lane: Config.BufferSize %d: want %d with GRO, which makes bundles up to that", c.BufferSize, maxDatagram))
	}
	return errors.Join(errs...)
}

// ip4 tells whether the socket is of the IPv4 family, as package net chooses it.
func (c Config) ip4() bool {
	if c.Local.Addr().IsValid() {
		return c.Local.Addr().Is4()
	}
	return c.Remote.Addr().Is4()
}

// DontFragment is what to do with datagrams over the path's MTU.
type DontFragment int

const (
	// FragmentLarger fragments what is over the MTU and forbids routers to
	// fragment the rest. It is the kernel's default, and net.UDPConn's.
	FragmentLarger DontFragment = iota
	// FragmentAnywhere lets routers fragment too, and ignores what is known of
	// the path.
	FragmentAnywhere
	// FragmentNever refuses what is over the path's MTU with EMSGSIZE.
	FragmentNever
	// FragmentProbe refuses only what is over the interface's MTU.
	FragmentProbe
)
