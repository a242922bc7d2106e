// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/xdpath/xdpath/internal/packet"
)

// Config says what a Table is opened for.
type Config struct {
	// Ifindex is the interface that the sender is on, in the network namespace of
	// the thread that opens. Multicast, 255.255.255.255 and link-local addresses
	// without a zone are looked up on it.
	Ifindex int
	// Accept are further interfaces whose datagrams the sender can put on the link
	// himself: VLAN interfaces on top of Ifindex. All others are OtherInterface.
	Accept []int
}

// Kind says who can send a datagram, and how.
type Kind uint8

const (
	// Unresolved: the next hop's address is not known yet, or not any more.
	// Solicit it, and send through the kernel meanwhile.
	Unresolved Kind = iota
	// Unicast, Multicast and Broadcast have a MAC to which the sender may put the
	// frame on the link himself.
	Unicast
	Multicast
	Broadcast
	// Local: the destination is an address of this host.
	Local
	// OtherInterface: the route leaves through an interface that is none of Config.
	OtherInterface
	// KernelOnly: the right interface, but no plain Ethernet frame: a tunnel
	// without hardware addresses, an encapsulating route, an 802.1ad VLAN.
	KernelOnly

	numKinds
)

// String returns the kind in lower case.
func (k Kind) String() string {
	names := [numKinds]string{"unresolved", "unicast", "multicast", "broadcast", "local", "other interface", "kernel only"}
	if k < numKinds {
		return names[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Direct reports whether the answer has a MAC: the sender need not go through the
// kernel.
func (k Kind) Direct() bool { return k == Unicast || k == Multicast || k == Broadcast }

// Query is a destination, and what else may have a say in its route. Only Dst must
// be set.
type Query struct {
	// Dst may have a zone, a name or a number, if it is a link-local or a multicast
	// address; on others it does not count. IPv4 in IPv6 form is IPv4, and an
	// unspecified address is this host, as they are for a socket.
	Dst netip.Addr
	// Src is the sender's own address, or invalid or unspecified for the one that
	// the route prefers.
	Src netip.Addr
	// Ports count where rules look at them, or where next hops are shared out by
	// them. Zero ports are not asked for.
	SrcPort, DstPort uint16
	Mark             uint32 // of the firewall, as with SO_MARK
	TOS              uint8  // or traffic class; the ECN bits do not count
}

// Hop is a neighbour: an address, without a zone, on a link.
type Hop struct {
	Ifindex int
	Addr    netip.Addr
}

// Answer is what the kernel would do. It is a plain value.
type Answer struct {
	Kind Kind
	// NextHop is where the frame goes first: the gateway, or the destination itself.
	// Its interface is the one through which the datagram leaves.
	NextHop Hop
	// MAC is the next hop's address, or the group's. It is zero if Kind is not
	// Direct, and never otherwise.
	MAC packet.MAC
	// SrcMAC is the address of the interface, VLAN its tag if it is a VLAN
	// interface, otherwise 0.
	SrcMAC packet.MAC
	VLAN   uint16
	// Src is Query.Src, or else the address that the route prefers; invalid if the
	// interface has none.
	Src netip.Addr
	// MTU in bytes, IP header included: the least of the interface's, the route's
	// and the path's as far as the kernel knows it.
	MTU int
	// HopLimit is the TTL or hop limit that the route asks for, 0 if it does not.
	HopLimit uint8
	// Failed tells of an Unresolved next hop that the kernel has asked for it and
	// got no answer.
	Failed bool
	// Gen is the generation at which the answer was asked for, never 0. It is set
	// beside an error too: the error stands for as long as the generation does.
	Gen uint64
}

// Stats counts what a Table has noticed and done. The counts only grow.
type Stats struct {
	Generation uint64
	// Changes that may concern answers, by what changed. Those of neighbours are
	// counted only if an answer was about them and they altered it.
	Links, Addresses, Routes, Rules, Neighbours uint64
	// Overruns is how often notifications were lost. Everything is read afresh then.
	Overruns uint64
	// Solicited is how often the kernel was made to ask for, or to confirm, a
	// neighbour.
	Solicited uint64
}

// ErrNotPermitted says that the kernel may not be told to solicit a neighbour:
// CAP_NET_ADMIN is missing. A datagram that is sent through a kernel socket makes it
// do the same. errors.Is takes it for syscall.EPERM and os.ErrPermission too.
var ErrNotPermitted error = notPermitted{}

type notPermitted struct{}

func (notPermitted) Error() string {
	return "needs CAP_NET_ADMIN; a datagram sent through a kernel socket has the same effect"
}

func (notPermitted) Is(target error) bool { return errors.Is(syscall.EPERM, target) }
