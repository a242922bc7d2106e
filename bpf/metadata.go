// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// MetadataPolicy says whether frames shall carry what the driver knows of them.
type MetadataPolicy int

const (
	// MetadataOff attaches the plain program, which works everywhere.
	MetadataOff MetadataPolicy = iota
	// MetadataAuto attaches the program with metadata where driver and kernel have
	// any, else the plain one. Info.Attempts tells why.
	MetadataAuto
	// MetadataRequire fails where frames could carry nothing. Info.Metadata tells
	// what they may carry.
	MetadataRequire
)

// String gives the policy in lower case.
func (p MetadataPolicy) String() string {
	switch p {
	case MetadataOff:
		return "off"
	case MetadataAuto:
		return "auto"
	case MetadataRequire:
		return "require"
	}
	return fmt.Sprintf("metadata policy %d", int(p))
}

// Fields is a set of what a driver may know of a frame. The bits are the kernel's
// (enum netdev_xdp_rx_metadata in linux/netdev.h).
type Fields uint32

const (
	HasTimestamp Fields = 1 << iota
	HasHash
	HasVLAN
)

// String lists the fields.
func (f Fields) String() string {
	var s []string
	for i, name := range [...]string{"timestamp", "hash", "VLAN tag"} {
		if f&(1<<i) != 0 {
			s = append(s, name)
		}
	}
	if s == nil {
		return "none"
	}
	return strings.Join(s, ", ")
}

// HashType says what a hash was made of: bits of the kernel's enum
// xdp_rss_hash_type (include/net/xdp.h). Zero means that the driver did not say.
type HashType uint32

const (
	HashIPv4 HashType = 1 << 0 // of the IPv4 addresses
	HashIPv6 HashType = 1 << 1 // of the IPv6 addresses
	HashL4   HashType = 1 << 3 // also of the ports, of whatever protocol
	HashUDP  HashType = 1 << 5 // also of the ports of UDP
)

// Metadata is what the driver knew of one frame. What Fields does not name is zero.
type Metadata struct {
	Fields Fields

	// Hash is the one that the device spread frames over its queues by, or would
	// have: equal for all frames of a flow. On veth it is the sending kernel's, which
	// gives one and the same, of no type, to all that an AF_XDP socket sends.
	Hash     uint32
	HashType HashType

	// The VLAN tag that the device took out of the frame: its type, 0x8100 or
	// 0x88a8, and its content: id in the low 12 bits, priority in the upper three. A
	// tag that is still in the frame is not repeated here.
	VLANProto, VLANTCI uint16

	// Timestamp is when the device received the frame, in nanoseconds of its own
	// clock, which is the system's only if somebody keeps them together (phc2sys).
	// Most devices stamp only if told to (SIOCSHWTSTAMP; hwstamp_ctl -r 1).
	Timestamp uint64
}

// MetadataSize is the number of bytes in front of a frame that hold its metadata.
const MetadataSize = 32

// Where the fields of struct block in xdp_meta.c are:
//
//	0       8        12     16          20           22         24          32
//	| stamp | fields | hash | hash type | VLAN proto | VLAN TCI | timestamp |
//
// all in the machine's byte order, but for the protocol, which is in network order.
const (
	atStamp     = 0
	atFields    = 8
	atHash      = 12
	atHashType  = 16
	atVLANProto = 20
	atVLANTCI   = 22
	atTimestamp = 24
)

// stamp tells the blocks of one attached program from all other bytes. It is
// random, never on the wire, and another one at each Attach; zero is none.
type stamp uint64

// Metadata reads what the driver knew of a frame that this program handed to a
// socket. room is the memory that ends where the frame, as received, begins; its last
// MetadataSize bytes are read. In a frame of several buffers that is the first one.
// It copies, takes no lock, and may be called from anywhere at any time.
//
// ok is false if these bytes are not what this program wrote for a frame: always
// with the plain program, and after Close. Bytes that an earlier frame left in the
// chunk are never taken. For a program with metadata writes a block in front of each
// frame that it hands to a socket, or does not hand it over (Counters.NoRoom): its own
// frames have no old bytes there. Those of any other program may have, also old blocks
// of this one, but are read with the Program they came by, whose blocks bear another
// stamp. And who writes to the network cannot know 64 random bits that are never sent.
func (p *Program) Metadata(room []byte) (m Metadata, ok bool) {
	return parseMetadata(room, stamp(p.stamp.Load()))
}

func parseMetadata(room []byte, s stamp) (m Metadata, ok bool) {
	if len(room) < MetadataSize || s == 0 {
		return Metadata{}, false
	}
	b := room[len(room)-MetadataSize:]
	if stamp(binary.NativeEndian.Uint64(b[atStamp:])) != s {
		return Metadata{}, false
	}
	m.Fields = Fields(binary.NativeEndian.Uint32(b[atFields:])) & (HasTimestamp | HasHash | HasVLAN)
	if m.Fields&HasHash != 0 {
		m.Hash = binary.NativeEndian.Uint32(b[atHash:])
		m.HashType = HashType(binary.NativeEndian.Uint32(b[atHashType:]))
	}
	if m.Fields&HasVLAN != 0 {
		m.VLANProto = binary.BigEndian.Uint16(b[atVLANProto:])
		m.VLANTCI = binary.NativeEndian.Uint16(b[atVLANTCI:])
	}
	if m.Fields&HasTimestamp != 0 {
		m.Timestamp = binary.NativeEndian.Uint64(b[atTimestamp:])
	}
	return m, true
}
