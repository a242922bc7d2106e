// SPDX-License-Identifier: MIT

package packet

import "encoding/binary"

// Lengths and values of the headers, in bytes and as on the wire.
const (
	ethLen  = 14
	tagLen  = 4
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8

	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherTag     = 0x8100 // 802.1Q
	etherService = 0x88a8 // 802.1ad

	protoUDP = 17
	vlanMask = 0x0fff // id bits of a TCI
)

// MaxHeaderLen is the most that the headers before a payload can take:
// Ethernet, one tag, IPv6, UDP.
const MaxHeaderLen = ethLen + tagLen + ipv6Len + udpLen

// Parse decodes a frame from its Ethernet header on. If the reason is OK, the
// payload is frame[Offset:Offset+Length]; otherwise the UDP value is zero.
//
// It takes what the Linux kernel would deliver to a UDP socket and trims as the
// kernel does: padding behind the IP datagram and bytes between the end of the
// UDP length and the end of the IP payload are no payload. The IPv4 header
// checksum is verified here, the UDP checksum is not: see [UDP.Verify]. The
// source address is checked only for what can never be one (multicast,
// 255.255.255.255); whether a zero address, a loopback address or the host's
// own is in order depends on the interface, and is for the caller to decide.
func Parse(frame []byte) (u UDP, r Reason) {
	r = u.Decode(frame, len(frame))
	return u, r
}

// ParseTotal is Parse for a frame of total bytes of which only the first
// segment is at hand. All headers must lie in it; the payload may go on
// beyond its end.
func ParseTotal(first []byte, total int) (u UDP, r Reason) {
	r = u.Decode(first, total)
	return u, r
}

// Decode is ParseTotal into a value that the caller holds, for loops over many
// frames: a UDP value is large enough for its copy to be felt. All fields
// are set; unless the result is OK, to zero.
func (u *UDP) Decode(first []byte, total int) Reason {
	f := frame{first: first, total: total}
	if total < len(first) {
		f.first = first[:max(total, 0)]
	}
	r := f.parseEthernet(u)
	if r != OK {
		*u = UDP{}
	}
	return r
}

// frame is a frame being parsed.
type frame struct {
	first []byte // bytes at hand
	total int    // bytes of the whole, at least len(first)
}

// need returns OK if the first n bytes are at hand, or why they are not.
func (f *frame) need(n int) Reason {
	switch {
	case n <= len(f.first):
		return OK
	case n <= f.total:
		return SplitHeaders
	}
	return Truncated
}

func (f *frame) parseEthernet(u *UDP) Reason {
	if r := f.need(ethLen); r != OK {
		return r
	}
	b, at := f.first, ethLen
	u.DstMAC, u.SrcMAC = MAC(b[0:6]), MAC(b[6:12])
	u.Tagged, u.TCI = false, 0
	kind := binary.BigEndian.Uint16(b[12:])
	if kind == etherTag {
		if r := f.need(ethLen + tagLen); r != OK {
			return r
		}
		u.Tagged, u.TCI = true, binary.BigEndian.Uint16(b[14:])
		kind = binary.BigEndian.Uint16(b[16:])
		at += tagLen
	}
	switch {
	case kind == etherIPv4:
		return f.parseIPv4(u, at)
	case kind == etherIPv6:
		return f.parseIPv6(u, at)
	case kind == etherService || kind == etherTag:
		return DoubleTag
	}
	return NotIP
}

// parseUDP decodes the UDP header at the given offset but for the ports, with an
// IP payload of length bytes. The IP parser has seen to it that the payload lies
// within the frame.
func (f *frame) parseUDP(u *UDP, at, length int, v6 bool) Reason {
	if length < udpLen {
		return BadUDPLength
	}
	if r := f.need(at + udpLen); r != OK {
		return r
	}
	b := f.first[at : at+udpLen]
	size := int(binary.BigEndian.Uint16(b[4:]))
	if size == 0 && v6 {
		// Meant for jumbograms (RFC 2675), whose hop-by-hop header never gets
		// here. The kernel takes it as "all of the IP payload" in any datagram
		// (net/ipv6/udp.c, __udp6_lib_rcv).
		size = length
	}
	if size < udpLen || size > length {
		return BadUDPLength
	}
	u.Checksum = binary.BigEndian.Uint16(b[6:])
	u.Offset, u.Length = at+udpLen, size-udpLen
	if u.Checksum == 0 && v6 {
		return ZeroChecksum
	}
	return OK
}
