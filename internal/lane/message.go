// SPDX-License-Identifier: MIT

package lane

import (
	"net/netip"
	"time"
)

// Message is one received datagram. It is borrowed: its payload is valid until the
// message is given to Release. A payload that is used later shows other bytes but
// never faults, also after Close.
type Message struct {
	// Payload is empty, and not nil, for an empty datagram. Its capacity ends
	// where it does.
	Payload []byte
	// Src and Dst are what the IP header says, with Dst's port that of the socket.
	// IPv4 is Is4 on a socket for both families too; link-local IPv6 addresses have
	// the name of the interface as their zone.
	Src, Dst netip.AddrPort
	// Ifindex is the interface that it arrived on, 0 if the kernel did not say.
	Ifindex int
	// TTL is the hop limit for IPv6, TOS the traffic class.
	TTL, TOS uint8
	// Truncated: the datagram was longer than Config.BufferSize and its end is lost.
	Truncated bool
	// Received is when the kernel got it, if Config.Timestamps asked.
	Received time.Time

	buf   *buffer
	gen   uint32 // of buf when it was taken
	piece int    // which of the datagrams in buf
}

// Outgoing is one datagram to send. The payload is the caller's again when the
// call returns, sent or not.
type Outgoing struct {
	Payload []byte
	// Dst may be left out on a lane with a Remote. The zone of a link-local address
	// is the interface's name or number.
	Dst netip.AddrPort
	// Src is the source address, of the family of Dst; the kernel's choice if not
	// valid.
	Src netip.Addr
	// Ifindex is the interface to leave by; 0 leaves it to the routes.
	Ifindex int
	// TOS and TTL of this datagram (IPv6: traffic class and hop limit); 0 is the
	// socket's own.
	TOS, TTL uint8
}
