// SPDX-License-Identifier: MIT

package packet

import "encoding/binary"

// ReplyConfig says how replies are made. The zero value sends them with a TTL
// of 64 and a checksum computed in software.
type ReplyConfig struct {
	TTL      uint8 // or hop limit; 0: 64
	TOS      uint8 // or traffic class; the received one, with its ECN bits, is not reflected
	Checksum Checksum
	// SamePayload says that the payload is, byte for byte, the one received:
	// in mode Software its checksum is kept instead of computed, good or bad,
	// as swapping addresses and ports changes no sum.
	SamePayload bool
}

// Reply turns the frame that u was parsed from into the answer to its sender,
// where it lies: MAC addresses, IP addresses and ports change places, a tag
// stays, lengths and checksums are set. The payload of the answer is what
// follows the headers in first, up to first's end, and then rest: the caller
// has written it there, and cuts or extends first to fit. Offload sums from
// u.Offset - 8 on.
//
// Reply returns the length of the frame. It returns 0 and changes nothing if
// there is nobody to answer (the datagram came to or from a group, or from port
// or address 0), if the payload is longer than the length fields can tell, if
// the mode is Omit and the datagram IPv6, or if first is shorter than the
// headers. Afterwards u describes the received frame, not the one that is
// there; a second Reply with the same u makes the same frame again.
func (u *UDP) Reply(cfg ReplyConfig, first []byte, rest ...[]byte) int {
	if !u.describes(first) || !u.answerable() {
		return 0
	}
	length := len(first) - u.Offset
	for _, s := range rest {
		length += len(s)
	}
	if !cfg.allows(length, u.Src.Addr().Is6()) {
		return 0
	}
	keep := cfg.SamePayload && u.keeps(first, length)
	copy(first[0:], u.SrcMAC[:])
	copy(first[6:], u.DstMAC[:])
	u.turnIP(cfg, first, length)
	u.turnUDP(first, length)
	udp := first[u.Offset-udpLen:]
	switch {
	case cfg.Checksum == Omit:
		binary.BigEndian.PutUint16(udp[ChecksumOffset:], 0)
	case cfg.Checksum == Offload:
		binary.BigEndian.PutUint16(udp[ChecksumOffset:], u.pseudoSum(first, length))
	case !keep:
		binary.BigEndian.PutUint16(udp[ChecksumOffset:], 0)
		sum, _ := sumChain(udp, rest, udpLen+length, u.pseudoSum(first, length))
		putChecksum(udp, sum)
	}
	return u.Offset + length
}

// answerable reports whether the addresses can be swapped. A group as source
// would be a frame that nobody may send.
func (u *UDP) answerable() bool {
	src, dst := u.Src.Addr(), u.Dst.Addr()
	return !u.SrcMAC.IsGroup() && !u.DstMAC.IsGroup() &&
		!dst.IsMulticast() && !isLimitedBroadcast(dst) &&
		!src.IsUnspecified() && u.Src.Port() != 0
}

// allows reports whether a reply of length bytes can be made.
func (c ReplyConfig) allows(length int, v6 bool) bool {
	if v6 {
		return length <= maxLength-udpLen && (c.Checksum == Software || c.Checksum == Offload)
	}
	return length <= maxLength-ipv4Len-udpLen && c.Checksum <= Offload
}

// keeps reports whether the received checksum covers the reply: there is one,
// it is whole, and the length field, which it includes, stays the same. (A field
// of 0 over IPv6 does not.)
func (u *UDP) keeps(first []byte, length int) bool {
	field := int(binary.BigEndian.Uint16(first[u.Offset-4:]))
	return u.Checksum != 0 && field == length+udpLen && !u.LooksPartial(first)
}

// turnIP swaps the IP addresses and writes the rest of the IP header as a
// Template would: don't-fragment, identification 0, flow label 0.
func (u *UDP) turnIP(cfg ReplyConfig, first []byte, length int) {
	size := uint16(length + udpLen)
	if cfg.TTL == 0 {
		cfg.TTL = 64
	}
	udp := u.Offset - udpLen
	if src := u.Src.Addr(); src.Is4() {
		from, to := u.Dst.Addr().As4(), src.As4()
		b := first[udp-ipv4Len : udp]
		b[1] = cfg.TOS
		binary.BigEndian.PutUint16(b[2:], size+ipv4Len)
		binary.BigEndian.PutUint32(b[4:], flagDF<<8)
		b[8] = cfg.TTL
		binary.BigEndian.PutUint16(b[10:], 0)
		copy(b[12:], from[:])
		copy(b[16:], to[:])
		binary.BigEndian.PutUint16(b[10:], ^Sum(b, 0))
		return
	}
	from, to := u.Dst.Addr().As16(), u.Src.Addr().As16()
	b := first[udp-ipv6Len : udp]
	binary.BigEndian.PutUint32(b[0:], 6<<28|uint32(cfg.TOS)<<20)
	binary.BigEndian.PutUint16(b[4:], size)
	b[7] = cfg.TTL
	copy(b[8:], from[:])
	copy(b[24:], to[:])
}

// turnUDP swaps the ports and sets the length.
func (u *UDP) turnUDP(first []byte, length int) {
	b := first[u.Offset-udpLen:]
	binary.BigEndian.PutUint16(b[0:], u.Dst.Port())
	binary.BigEndian.PutUint16(b[2:], u.Src.Port())
	binary.BigEndian.PutUint16(b[4:], uint16(length+udpLen))
}

// pseudoSum returns the sum over the addresses in the frame, the protocol and
// the UDP length.
func (u *UDP) pseudoSum(first []byte, length int) uint16 {
	at := u.Offset - udpLen
	return Sum(first[at-u.addrLen():at], add16(protoUDP, uint16(length+udpLen)))
}
