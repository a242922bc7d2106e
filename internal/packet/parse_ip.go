// SPDX-License-Identifier: MIT

package packet

import (
	"encoding/binary"
	"net/netip"
)

// parseIPv4 follows the order of the kernel's own checks (ip_rcv_core in
// net/ipv4/ip_input.c): header length, checksum, total length.
func (f *frame) parseIPv4(u *UDP, at int) Reason {
	if r := f.need(at + ipv4Len); r != OK {
		return r
	}
	b := f.first[at:]
	if b[0]>>4 != 4 {
		return BadVersion
	}
	header := int(b[0]&0x0f) * 4
	if header < ipv4Len {
		return BadHeaderLength
	}
	if r := f.need(at + header); r != OK {
		return r
	}
	if Sum(b[:header], 0) != 0xffff {
		return BadIPChecksum
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	if at+length > f.total {
		return Truncated
	}
	if length < header {
		return BadIPLength
	}
	switch {
	case b[12]>>4 == 0xe || binary.BigEndian.Uint32(b[12:]) == 0xffffffff:
		return BadSource // martian to the kernel (ip_route_input_slow)
	case binary.BigEndian.Uint16(b[6:])&0x3fff != 0: // more fragments, or an offset
		return Fragment
	case header > ipv4Len:
		return Options
	case b[9] != protoUDP:
		return NotUDP
	}
	if r := f.parseUDP(u, at+ipv4Len, length-ipv4Len, false); r != OK {
		return r
	}
	src, dst := netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	u.Src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(b[20:]))
	u.Dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[22:]))
	u.TOS, u.TTL = b[1], b[8]
	return OK
}

// parseIPv6 follows ip6_rcv_core in net/ipv6/ip6_input.c.
func (f *frame) parseIPv6(u *UDP, at int) Reason {
	if r := f.need(at + ipv6Len); r != OK {
		return r
	}
	b := f.first[at:]
	if b[0]>>4 != 6 {
		return BadVersion
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if at+ipv6Len+length > f.total {
		return Truncated
	}
	if b[8] == 0xff {
		return BadSource // a multicast group
	}
	if b[6] != protoUDP {
		return otherHeader(b[6])
	}
	if r := f.parseUDP(u, at+ipv6Len, length, true); r != OK {
		return r
	}
	src, dst := netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	u.Src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(b[40:]))
	u.Dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[42:]))
	u.TOS, u.TTL = uint8(binary.BigEndian.Uint16(b)>>4), b[7]
	return OK
}

// otherHeader classes the header that follows an IPv6 header and is not UDP. What
// lies behind an extension header is never looked at, so no chain of them can
// lead the parser anywhere.
func otherHeader(next byte) Reason {
	switch next {
	case 44:
		return Fragment
	case 0, 43, 60, // hop-by-hop, routing, destination options
		50, 51, // security payload, authentication
		135, 139, 140: // mobility, host identity, shim6
		return ExtensionHeader
	}
	return NotUDP
}
