// SPDX-License-Identifier: MIT

// Package frames makes Ethernet frames for tests of the XDP program: right ones,
// and ones that are wrong in every field that the program reads.
package frames

import (
	"encoding/binary"
	"net/netip"
)

// Target is the endpoint that the frames are for, or miss.
type Target struct {
	MAC            [6]byte
	IP4, IP6       netip.Addr
	Group4, Group6 netip.Addr // multicast groups
	Port           uint16     // wanted
	VLAN           uint16     // wanted beside untagged
}

// Frame describes a frame layer by layer. Lengths of -1 are computed; the zero
// value of anything else is written as it is.
type Frame struct {
	Dst     [6]byte
	Tags    []Tag
	Type    uint16
	IP4     *IPv4
	IP6     *IPv6
	UDP     *UDP
	Payload []byte
	Padding int // bytes behind the IP packet
}

// Tag is four bytes of VLAN tag: the type that announces it, and its content.
type Tag struct{ Type, TCI uint16 }

// IPv4 holds what the tests vary; source and the rest are constant.
type IPv4 struct {
	Version, IHL, Protocol byte
	Length                 int
	Fragment               uint16
	Dst                    netip.Addr
	Options                []byte
}

// IPv6 holds what the tests vary. Extensions stand between it and UDP.
type IPv6 struct {
	Version, Next byte
	Length        int
	Dst           netip.Addr
	Extensions    []byte
}

// UDP holds what the tests vary.
type UDP struct {
	Dst    uint16
	Length int
}

// Where the frames say they come from.
var (
	source  = [6]byte{0x02, 0, 0, 0, 0, 0xaa}
	source6 = netip.MustParseAddr("fd09::1")
)

// Bytes writes the frame.
func (f Frame) Bytes() []byte {
	b := append([]byte(nil), f.Dst[:]...)
	b = append(b, source[:]...)
	for _, t := range f.Tags {
		b = binary.BigEndian.AppendUint16(b, t.Type)
		b = binary.BigEndian.AppendUint16(b, t.TCI)
	}
	b = binary.BigEndian.AppendUint16(b, f.Type)
	transport := f.transport()
	switch {
	case f.IP4 != nil:
		b = f.IP4.append(b, len(transport))
	case f.IP6 != nil:
		b = f.IP6.append(b, len(transport))
	}
	b = append(b, transport...)
	return append(b, make([]byte, f.Padding)...)
}

func (f Frame) transport() []byte {
	var b []byte
	if f.UDP != nil {
		b = binary.BigEndian.AppendUint16(b, 40000)
		b = binary.BigEndian.AppendUint16(b, f.UDP.Dst)
		b = binary.BigEndian.AppendUint16(b, length(f.UDP.Length, 8+len(f.Payload)))
		b = binary.BigEndian.AppendUint16(b, 0)
	}
	b = append(b, f.Payload...)
	if f.UDP != nil && f.IP6 != nil {
		f.IP6.checksum(b)
	}
	return b
}

// checksum fills in the UDP checksum, which IPv6 demands, over what the UDP length
// says the datagram is.
func (ip *IPv6) checksum(datagram []byte) {
	n := int(binary.BigEndian.Uint16(datagram[4:]))
	if n < 8 || n > len(datagram) {
		return
	}
	pseudo := append(append(source6.AsSlice(), ip.Dst.AsSlice()...), datagram[:n]...)
	if n%2 == 1 {
		pseudo = append(pseudo, 0)
	}
	pseudo = append(pseudo, 0, 17, byte(n>>8), byte(n))
	sum := checksum(pseudo)
	if sum == 0 {
		sum = 0xffff // zero means "none"
	}
	binary.BigEndian.PutUint16(datagram[6:], sum)
}

// length is the stated length, or the true one for -1.
func length(stated, real int) uint16 {
	if stated < 0 {
		return uint16(real)
	}
	return uint16(stated)
}

func (ip *IPv4) append(b []byte, payload int) []byte {
	at := len(b)
	b = append(b, ip.Version<<4|ip.IHL, 0)
	b = binary.BigEndian.AppendUint16(b, length(ip.Length, 20+len(ip.Options)+payload))
	b = append(b, 0, 1)
	b = binary.BigEndian.AppendUint16(b, ip.Fragment)
	b = append(b, 64, ip.Protocol, 0, 0, 10, 9, 0, 1)
	b = append(b, ip.Dst.AsSlice()...)
	b = append(b, ip.Options...)
	binary.BigEndian.PutUint16(b[at+10:], checksum(b[at:]))
	return b
}

// checksum is the Internet checksum of an even number of bytes. A kernel that is
// sent the frame looks at it; the program does not.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func (ip *IPv6) append(b []byte, payload int) []byte {
	b = append(b, ip.Version<<4, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, length(ip.Length, len(ip.Extensions)+payload))
	b = append(b, ip.Next, 64)
	b = append(b, source6.AsSlice()...)
	b = append(b, ip.Dst.AsSlice()...)
	return append(b, ip.Extensions...)
}

// GroupMAC is the MAC address of a multicast group.
func GroupMAC(group netip.Addr) [6]byte {
	a := group.AsSlice()
	if group.Is4() {
		return [6]byte{0x01, 0x00, 0x5e, a[1] & 0x7f, a[2], a[3]}
	}
	return [6]byte{0x33, 0x33, a[12], a[13], a[14], a[15]}
}

// UDP4 is a right IPv4 datagram for the target.
func (t Target) UDP4(payload []byte) Frame {
	return Frame{
		Dst: t.MAC, Type: 0x0800, Payload: payload,
		IP4: &IPv4{Version: 4, IHL: 5, Protocol: 17, Length: -1, Dst: t.IP4},
		UDP: &UDP{Dst: t.Port, Length: -1},
	}
}

// UDP6 is a right IPv6 datagram for the target.
func (t Target) UDP6(payload []byte) Frame {
	return Frame{
		Dst: t.MAC, Type: 0x86dd, Payload: payload,
		IP6: &IPv6{Version: 6, Next: 17, Length: -1, Dst: t.IP6},
		UDP: &UDP{Dst: t.Port, Length: -1},
	}
}
