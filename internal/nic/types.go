// SPDX-License-Identifier: MIT

package nic

import (
	"net"
	"net/netip"
	"syscall"
)

// maxName is the longest name of an interface in bytes (IFNAMSIZ - 1).
const maxName = 15

// ErrNoInterface says that there is no such interface in the namespace: never was,
// or is no more. errors.Is takes it for syscall.ENODEV too.
var ErrNoInterface error = noInterface{}

type noInterface struct{}

func (noInterface) Error() string        { return "no such interface in this network namespace" }
func (noInterface) Is(target error) bool { return target == syscall.ENODEV }

// Link is what the kernel said about an interface at one moment. Its slices belong
// to the caller of Link; those in an Event are shared and only to be read.
type Link struct {
	Index  int
	Name   string
	Kind   string // "veth", "macvlan", "vlan"...; empty for hardware
	Driver string // as ethtool tells it, else Kind
	MAC    net.HardwareAddr
	MTU    int

	Up      bool // administratively up
	Carrier bool // the other end answers; never true on an interface that is down

	// Parent is the index of the interface under this one, of a VLAN or a macvlan,
	// and 0 without one. The other end of a veth is none. ParentOutside tells that
	// Parent is an index of another network namespace.
	Parent        int
	ParentOutside bool
	// VLAN is the tag of a VLAN interface, 0 on others.
	VLAN int

	// Addrs are the usable addresses with their networks: an IPv6 address that is
	// still being checked for duplicates, or is one, is left out.
	Addrs []netip.Prefix

	// Active queues, and how many there could be. An AF_XDP socket can be bound to
	// queues below the larger of RxQueues and TxQueues.
	RxQueues, TxQueues       int
	MaxRxQueues, MaxTxQueues int

	XDP      Features
	Programs []Program // attached XDP programs, at most one a mode
}

// Running tells whether frames can pass: up, and carrier.
func (l Link) Running() bool { return l.Up && l.Carrier }

// Features is what the driver says it can do with XDP (linux/netdev.h). All is
// false where the kernel cannot be asked, before Linux 6.3: Known tells.
type Features struct {
	Known bool

	Basic    bool // native XDP: the verdicts aborted, drop, pass and TX
	Redirect bool // native XDP: the verdict redirect, which AF_XDP needs
	NdoXmit  bool // can be the target of a redirect
	ZeroCopy bool // AF_XDP zero-copy
	RxSG     bool // native XDP on packets of several buffers
	TxSG     bool // can be the target of a redirect of such packets

	ZCMaxSegs int // descriptors a packet in zero-copy, 1 for no multi-buffer, 0 if not told

	// Metadata that a program can read of a received packet.
	RxTimestamp, RxHash, RxVLANTag bool
	// Metadata that an AF_XDP socket can set on a packet to send.
	TxTimestamp, TxChecksum, TxLaunchTime bool
}

// Modes of a Program.
const (
	ModeNative  = "native"
	ModeGeneric = "generic"
	ModeOffload = "offload"
)

// Program is an attached XDP program.
type Program struct {
	ID   uint32
	Mode string // ModeNative, ModeGeneric or ModeOffload
	Name string // empty without the right to ask (CAP_SYS_ADMIN)
}

// Kind says what changed.
type Kind int

const (
	Down           Kind = iota + 1 // frames no longer pass: set down, or no carrier
	Up                             // frames pass again
	Gone                           // deleted, or moved to another namespace; the last event
	MTUChanged                     //
	MACChanged                     //
	NameChanged                    //
	AddrChanged                    // the set of addresses, or an address came back
	QueuesChanged                  // the number of active queues
	ProgramChanged                 // an XDP program was attached, replaced or removed
)

var kindNames = [...]string{
	Down: "down", Up: "up", Gone: "gone", MTUChanged: "MTU changed", MACChanged: "MAC changed",
	NameChanged: "name changed", AddrChanged: "addresses changed", QueuesChanged: "queues changed",
	ProgramChanged: "program changed",
}

func (k Kind) String() string {
	if k <= 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Event is one change of one interface.
type Event struct {
	Kind Kind
	// Link is the facts after the change; for Gone, the last ones known.
	Link Link
}
