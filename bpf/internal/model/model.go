// SPDX-License-Identifier: MIT

// Package model decides in Go what the XDP program decides in the kernel. It is
// written from the header formats, not from the C, and in another manner: a test
// pushes many frames through both and takes no disagreement.
//
// It is no parser for the data path: it allocates, and takes its time.
package model

import (
	"encoding/binary"
	"net/netip"
)

// Reason is why a frame goes where it goes; the values are those of the program.
type Reason int

// The reasons, in the order of bpf.Counters.
const (
	Redirected Reason = iota
	NoSocket
	NoFilter
	OtherMAC
	Broadcast
	NotUDP
	Options
	Extension
	Fragment
	VLAN
	Malformed
	NoRoom  // the driver's doing, which no frame and no table tells: never decided here
	Reasons // their number
)

// String gives the name that bpf.Counters uses.
func (r Reason) String() string {
	names := [Reasons]string{"Redirected", "NoSocket", "NoFilter", "OtherMAC", "Broadcast", "NotUDP",
		"Options", "Extension", "Fragment", "VLAN", "Malformed", "NoRoom"}
	if r < 0 || r >= Reasons {
		return "unknown"
	}
	return names[r]
}

// Filter is a destination: Addr 0.0.0.0 or :: stands for any unicast address of
// its family.
type Filter struct {
	Addr netip.Addr
	Port uint16
	VLAN uint16
}

// Model is one interface with its tables.
type Model struct {
	MAC     [6]byte
	Filters map[Filter]bool
	Sockets map[int]bool // by queue
}

// datagram is what the headers say. The fields are filled in from the outside in.
type datagram struct {
	mac  [6]byte
	vlan uint16
	dst  netip.Addr
	port uint16
}

// Decide judges a frame that came in on a queue and lies in one buffer.
func (m *Model) Decide(frame []byte, queue int) Reason {
	var d datagram
	kind, packet, why := d.ethernet(frame)
	if why != Redirected {
		return why
	}
	if d.mac == [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} {
		return Broadcast
	}
	if !isGroup(d.mac) && d.mac != m.MAC {
		return OtherMAC
	}
	if kind == 0x0800 {
		why = d.ipv4(packet)
	} else {
		why = d.ipv6(packet)
	}
	if why != Redirected {
		return why
	}
	if d.dst == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return Broadcast
	}
	if !d.rightMAC() {
		return OtherMAC
	}
	if !m.wanted(d) {
		return NoFilter
	}
	if !m.Sockets[queue] {
		return NoSocket
	}
	return Redirected
}

func isGroup(mac [6]byte) bool { return mac[0]&1 == 1 }

// ethernet strips the Ethernet header and at most one tag.
func (d *datagram) ethernet(b []byte) (kind uint16, rest []byte, why Reason) {
	if len(b) < 14 {
		return 0, nil, Malformed
	}
	d.mac = [6]byte(b[:6])
	kind, rest = binary.BigEndian.Uint16(b[12:]), b[14:]
	if kind == 0x8100 {
		if len(rest) < 4 {
			return 0, nil, Malformed
		}
		d.vlan = binary.BigEndian.Uint16(rest) % 4096
		kind, rest = binary.BigEndian.Uint16(rest[2:]), rest[4:]
	}
	switch kind {
	case 0x8100, 0x88a8:
		return 0, nil, VLAN
	case 0x0800, 0x86dd:
		return kind, rest, Redirected
	}
	return 0, nil, NotUDP
}

func (d *datagram) ipv4(b []byte) Reason {
	if len(b) < 20 || b[0]>>4 != 4 {
		return Malformed
	}
	if b[9] != 17 {
		return NotUDP
	}
	switch words := b[0] % 16; {
	case words < 5:
		return Malformed
	case words > 5:
		return Options
	}
	flags := binary.BigEndian.Uint16(b[6:])
	if more, offset := flags&0x2000 != 0, flags%0x2000; more || offset != 0 {
		return Fragment
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < 20 || total > len(b) {
		return Malformed
	}
	d.dst = netip.AddrFrom4([4]byte(b[16:20]))
	return d.udp(b[20:], total-20)
}

func (d *datagram) ipv6(b []byte) Reason {
	if len(b) < 40 || b[0]>>4 != 6 {
		return Malformed
	}
	switch b[6] {
	case 17:
	case 44:
		return Fragment
	case 0, 43, 51, 60, 135:
		return Extension
	default:
		return NotUDP
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length > len(b)-40 {
		return Malformed
	}
	d.dst = netip.AddrFrom16([16]byte(b[24:40]))
	return d.udp(b[40:], length)
}

// udp reads the UDP header at the start of b, the rest of the frame, of which
// the first length bytes are the IP payload.
func (d *datagram) udp(b []byte, length int) Reason {
	if len(b) < 8 {
		return Malformed
	}
	if n := int(binary.BigEndian.Uint16(b[4:])); n < 8 || n > length {
		return Malformed
	}
	d.port = binary.BigEndian.Uint16(b[2:])
	return Redirected
}

// rightMAC: a group has its own MAC address, derived from the IP address; a
// unicast address does not come under a group's.
func (d *datagram) rightMAC() bool {
	a := d.dst.AsSlice()
	switch {
	case d.dst.Is4() && a[0]>>4 == 14:
		return d.mac == [6]byte{0x01, 0x00, 0x5e, a[1] % 128, a[2], a[3]}
	case d.dst.Is6() && a[0] == 0xff:
		return d.mac == [6]byte{0x33, 0x33, a[12], a[13], a[14], a[15]}
	}
	return !isGroup(d.mac)
}

func (m *Model) wanted(d datagram) bool {
	if m.Filters[Filter{d.dst, d.port, d.vlan}] {
		return true
	}
	if isGroup(d.mac) {
		return false
	}
	anyone := netip.IPv4Unspecified()
	if d.dst.Is6() {
		anyone = netip.IPv6Unspecified()
	}
	return m.Filters[Filter{anyone, d.port, d.vlan}]
}
