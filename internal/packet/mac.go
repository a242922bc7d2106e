// SPDX-License-Identifier: MIT

package packet

import (
	"fmt"
	"net/netip"
)

// MAC is an Ethernet address in the order it has on the wire. The zero MAC
// stands for "none"; it never goes into a frame.
type MAC [6]byte

// MACFrom takes the address out of b, for instance a net.HardwareAddr. It is
// false if b is not six bytes long.
func MACFrom(b []byte) (MAC, bool) {
	if len(b) != len(MAC{}) {
		return MAC{}, false
	}
	return MAC(b), true
}

// BroadcastMAC returns ff:ff:ff:ff:ff:ff.
func BroadcastMAC() MAC {
	return MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
}

// GroupMAC returns the Ethernet address to which a datagram for the group a
// goes, without asking any neighbour: 01:00:5e and the low 23 bits of an IPv4
// group (RFC 1112), 33:33 and the low 32 bits of an IPv6 group (RFC 2464),
// all ones for 255.255.255.255. It is false for any other address; whether an
// address is a subnet's broadcast address only the route table knows.
func GroupMAC(a netip.Addr) (MAC, bool) {
	a = a.Unmap()
	switch {
	case isLimitedBroadcast(a):
		return BroadcastMAC(), true
	case !a.IsMulticast():
		return MAC{}, false
	case a.Is4():
		b := a.As4()
		return MAC{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}, true
	default:
		b := a.As16()
		return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}, true
	}
}

// IsGroup reports whether m is a multicast or the broadcast address.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// String returns the usual form, 02:00:5e:00:53:01.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func isLimitedBroadcast(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{255, 255, 255, 255})
}
