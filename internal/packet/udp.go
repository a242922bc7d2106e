// SPDX-License-Identifier: MIT

package packet

import "net/netip"

// UDP is what Parse found in a frame: the fields of its headers and where in
// the frame the payload lies. It holds no bytes of the frame. It is a plain
// value, comparable, and describes the frame only until somebody writes to it.
type UDP struct {
	SrcMAC, DstMAC MAC
	// Src and Dst are IPv4 (Is4) in an IPv4 frame and IPv6 in an IPv6 frame. An
	// IPv6 source of the form ::ffff:1.2.3.4 is left as it is: the kernel
	// delivers such datagrams too, and they must not pass for IPv4. A
	// link-local address has no zone: the frame does not say which interface
	// it came through.
	Src, Dst netip.AddrPort
	Tagged   bool   // has an 802.1Q tag
	TCI      uint16 // the tag's priority (3 bits), drop eligibility (1) and id (12)
	TTL      uint8  // or IPv6 hop limit
	TOS      uint8  // or IPv6 traffic class: DSCP (6 bits) and ECN (2)
	Checksum uint16 // the UDP checksum field as received
	Offset   int    // bytes of all headers: the payload starts here
	Length   int    // bytes of payload, padding not counted
}

// VLAN returns the id in the tag, 0 if there is none or if it is a priority tag.
func (u *UDP) VLAN() uint16 { return u.TCI & vlanMask }

// ECN returns the two congestion bits: 0 not capable, 1 and 2 capable, 3
// congestion met.
func (u *UDP) ECN() uint8 { return u.TOS & 3 }

// Payload returns the payload, or of a datagram in several segments the part in
// the first. It is a view into first, capped at its own end, and empty if first
// is too short to be the frame that u describes.
func (u *UDP) Payload(first []byte) []byte {
	end := min(u.Offset+u.Length, len(first))
	if u.Offset < 0 || u.Offset > end {
		return nil
	}
	return first[u.Offset:end:end]
}

// addrLen returns the bytes of both IP addresses. They lie right before the UDP
// header, in IPv6 always and in IPv4 for want of options.
func (u *UDP) addrLen() int {
	if u.Src.Addr().Is4() {
		return 8
	}
	return 32
}

// describes reports whether first can be the frame that u was parsed from: a
// guard for slices, as u can be the zero value or made by hand.
func (u *UDP) describes(first []byte) bool {
	src, dst := u.Src.Addr(), u.Dst.Addr()
	header := ethLen + ipv6Len + udpLen
	if src.Is4() {
		header = ethLen + ipv4Len + udpLen
	}
	return u.Offset >= header && u.Offset <= len(first) && u.Length >= 0 &&
		u.Length <= maxLength && src.Is4() == dst.Is4() && src.IsValid() && dst.IsValid()
}
