// SPDX-License-Identifier: MIT

package packet

import "encoding/binary"

// flagDF is don't-fragment in byte 6 of an IPv4 header.
const flagDF = 0x40

// Put writes the headers for the payload to the start of header and returns
// their length, which is Len. The payload usually follows right behind them in
// the same frame, but may lie anywhere. Only Software reads it; all modes take
// its length.
//
// Put writes nothing and returns 0 if header is shorter than Len or the payload
// longer than MaxPayload.
func (t *Template) Put(header, payload []byte) int {
	n := t.stamp(header, len(payload))
	if n != 0 && t.mode == Software {
		t.finish(header, Sum(payload, t.initial(len(payload))))
	}
	return n
}

// PutSegments is Put for a payload that lies in several places. Segments may
// have any length, odd and zero ones too.
func (t *Template) PutSegments(header []byte, payload [][]byte) int {
	length := 0
	for _, s := range payload {
		length += len(s)
	}
	n := t.stamp(header, length)
	if n != 0 && t.mode == Software {
		t.finish(header, SumSegments(t.initial(length), payload...))
	}
	return n
}

// PutLen is Put where the payload is not at hand, only its length. It returns 0
// in mode Software, too, as that has to read it.
func (t *Template) PutLen(header []byte, length int) int {
	if t.mode == Software {
		return 0
	}
	return t.stamp(header, length)
}

// Complete computes the checksum of headers that Put has written in mode Offload, for
// a payload that no device will look at.
func (t *Template) Complete(header []byte, payload [][]byte) {
	if len(header) < t.size || t.size == 0 || t.mode != Offload {
		return
	}
	// The field holds the sum over the pseudo-header.
	t.finish(header, SumSegments(Sum(header[t.udp:t.size], 0), payload...))
}

// SetID gives the headers that Put has written an identification, for flows that
// are Fragmentable: two datagrams between the same addresses must not share one
// while fragments of either may be under way. IPv6 has none: nothing happens.
func (t *Template) SetID(header []byte, id uint16) {
	if t.v6 || len(header) < t.size || t.size == 0 {
		return
	}
	putIPv4Word(header[t.ip:], 4, id)
}

// SetTOS changes the type of service or traffic class of the headers that Put
// has written, for instance to set the ECN bits of one datagram.
func (t *Template) SetTOS(header []byte, tos uint8) {
	if len(header) < t.size || t.size == 0 {
		return
	}
	b := header[t.ip:]
	if t.v6 {
		b[0], b[1] = 0x60|tos>>4, tos<<4 // the rest is flow label: 0
		return
	}
	putIPv4Word(b, 0, uint16(b[0])<<8|uint16(tos))
}

// putIPv4Word sets the word at an even offset of an IPv4 header and corrects the
// header's checksum.
func putIPv4Word(b []byte, at int, word uint16) {
	before := binary.BigEndian.Uint16(b[at:])
	check := binary.BigEndian.Uint16(b[10:])
	binary.BigEndian.PutUint16(b[at:], word)
	binary.BigEndian.PutUint16(b[10:], Update(check, before, word))
}

// stamp writes the headers with all lengths, the IPv4 checksum, and what the
// modes other than Software want in the UDP checksum field.
func (t *Template) stamp(header []byte, length int) int {
	if len(header) < t.size || t.size == 0 || length < 0 || length > t.limit {
		return 0
	}
	copy(header, t.header[:t.size])
	size := uint16(length + udpLen)
	ip := header[t.ip:t.size]
	if t.v6 {
		binary.BigEndian.PutUint16(ip[4:], size)
	} else {
		total := size + ipv4Len
		binary.BigEndian.PutUint16(ip[2:], total)
		binary.BigEndian.PutUint16(ip[10:], ^add16(t.ipSum, total))
	}
	udp := header[t.udp:t.size]
	binary.BigEndian.PutUint16(udp[4:], size)
	if t.mode == Offload {
		binary.BigEndian.PutUint16(udp[6:], add16(t.pseudoSum, size))
	}
	return t.size
}

// initial returns the sum over pseudo-header and UDP header; the length counts
// in both.
func (t *Template) initial(length int) uint16 {
	size := uint16(length + udpLen)
	return add16(add16(t.udpSum, size), size)
}

// finish writes the UDP checksum for a sum over all that it covers.
func (t *Template) finish(header []byte, sum uint16) {
	putChecksum(header[t.udp:], sum)
}

// putChecksum writes the complement of sum into a UDP header. 0 would mean "no
// checksum", so its equal in ones' complement goes out instead (RFC 768).
func putChecksum(udp []byte, sum uint16) {
	check := ^sum
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(udp[ChecksumOffset:], check)
}
