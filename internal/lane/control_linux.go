// SPDX-License-Identifier: MIT

package lane

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Sizes of the data of control messages. All of it is in the machine's byte order,
// save for addresses.
const (
	intLen      = 4
	shortLen    = 2
	timespecLen = 16 // struct __kernel_timespec; struct timespec is 8 bytes on 32-bit machines
)

// receiveRoom is for all that the kernel may say about one datagram. An IPv4
// datagram on an IPv6 socket has TOS and TTL by IP_ messages, its destination by
// IPV6_PKTINFO.
func receiveRoom() int {
	return unix.CmsgSpace(unix.SizeofInet6Pktinfo) + // or IP_PKTINFO, which is smaller
		2*unix.CmsgSpace(intLen) + // TTL or hop limit, TOS or traffic class
		unix.CmsgSpace(intLen) + // UDP_GRO
		unix.CmsgSpace(intLen) + // SO_RXQ_OVFL
		unix.CmsgSpace(timespecLen) // SO_TIMESTAMPNS
}

// sendRoom is for all that can be said about one datagram to send.
func sendRoom() int {
	return unix.CmsgSpace(unix.SizeofInet6Pktinfo) + // or IP_PKTINFO
		2*unix.CmsgSpace(intLen) + // TTL, TOS
		unix.CmsgSpace(shortLen) // UDP_SEGMENT
}

// meta is what the kernel says about a received datagram beside its bytes.
type meta struct {
	dst      netip.Addr
	ifindex  uint32
	ttl, tos uint8
	segment  int // bytes a datagram of a bundle; 0: no bundle
	drops    uint32
	received time.Time
}

// parseControl reads the control messages of one datagram. It passes over those it
// does not know, and ends at one that is malformed.
func parseControl(ctl []byte) (m meta) {
	for len(ctl) >= unix.SizeofCmsghdr {
		hdr, data, rest, err := unix.ParseOneSocketControlMessage(ctl)
		if err != nil {
			break
		}
		m.set(hdr.Level, hdr.Type, data)
		ctl = rest
	}
	return m
}

func (m *meta) set(level, kind int32, data []byte) {
	switch level {
	case unix.SOL_IP:
		m.setIP(kind, data)
	case unix.SOL_IPV6:
		m.setIPv6(kind, data)
	case unix.SOL_UDP:
		if kind == unix.UDP_GRO {
			m.segment = max(int(int32(number(data))), 0)
		}
	case unix.SOL_SOCKET:
		switch kind {
		case unix.SO_RXQ_OVFL:
			m.drops = number(data)
		case unix.SO_TIMESTAMPNS_NEW, unix.SO_TIMESTAMPNS_OLD:
			m.received = timespec(data)
		}
	}
}

func (m *meta) setIP(kind int32, data []byte) {
	switch kind {
	case unix.IP_PKTINFO:
		// struct in_pktinfo: interface, local address, destination of the header.
		if len(data) >= unix.SizeofInet4Pktinfo {
			m.ifindex = binary.NativeEndian.Uint32(data)
			m.dst = netip.AddrFrom4([4]byte(data[8:]))
		}
	case unix.IP_TTL:
		m.ttl = uint8(number(data))
	case unix.IP_TOS:
		m.tos = uint8(number(data)) // a single byte
	}
}

func (m *meta) setIPv6(kind int32, data []byte) {
	switch kind {
	case unix.IPV6_PKTINFO:
		// struct in6_pktinfo: destination of the header, interface.
		if len(data) >= unix.SizeofInet6Pktinfo {
			m.dst = netip.AddrFrom16([16]byte(data)).Unmap()
			m.ifindex = binary.NativeEndian.Uint32(data[16:])
		}
	case unix.IPV6_HOPLIMIT:
		m.ttl = uint8(number(data))
	case unix.IPV6_TCLASS:
		m.tos = uint8(number(data))
	}
}

// number reads an int, or the one byte that some messages are.
func number(data []byte) uint32 {
	if len(data) >= intLen {
		return binary.NativeEndian.Uint32(data)
	}
	if len(data) >= 1 {
		return uint32(data[0])
	}
	return 0
}

// timespec reads seconds and nanoseconds, of 64 bits each or, as 32-bit kernels
// before 5.1 give them, of 32.
func timespec(data []byte) time.Time {
	switch {
	case len(data) >= timespecLen:
		return time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
	case len(data) >= timespecLen/2:
		return time.Unix(int64(int32(binary.NativeEndian.Uint32(data))), int64(int32(binary.NativeEndian.Uint32(data[4:]))))
	}
	return time.Time{}
}

// addControl appends a control message to ctl, which has room for it, and returns
// the longer ctl and the message's data, zeroed, to be filled in.
//
//	┌─────────────┬────────────┬────────────┬─────────────┬─────────┐
//	│ len (word)  │ level (32) │ type (32)  │ data        │ padding │
//	└─────────────┴────────────┴────────────┴─────────────┴─────────┘
//	len counts from itself to the end of the data; the padding ends at a word.
func addControl(ctl []byte, level, kind, size int) (longer, data []byte) {
	start := len(ctl)
	longer = ctl[:start+unix.CmsgSpace(size)]
	msg := longer[start:]
	clear(msg)
	if wordLen == 8 {
		binary.NativeEndian.PutUint64(msg, uint64(unix.CmsgLen(size)))
	} else {
		binary.NativeEndian.PutUint32(msg, uint32(unix.CmsgLen(size)))
	}
	binary.NativeEndian.PutUint32(msg[wordLen:], uint32(level))
	binary.NativeEndian.PutUint32(msg[wordLen+4:], uint32(kind))
	return longer, msg[unix.SizeofCmsghdr:][:size]
}

// wordLen is the size of a size_t, which begins a struct cmsghdr.
const wordLen = unix.SizeofCmsghdr - 8

func addInt(ctl []byte, level, kind int, value int) []byte {
	ctl, data := addControl(ctl, level, kind, intLen)
	binary.NativeEndian.PutUint32(data, uint32(value))
	return ctl
}

// addSource appends the message that chooses source address and interface; an
// address that is not valid leaves the choice to the kernel. The families of the
// socket do not matter, only that of the datagram.
func addSource(ctl []byte, ip4 bool, src netip.Addr, ifindex int) []byte {
	if ip4 {
		ctl, data := addControl(ctl, unix.SOL_IP, unix.IP_PKTINFO, unix.SizeofInet4Pktinfo)
		binary.NativeEndian.PutUint32(data, uint32(ifindex))
		if src.Is4() {
			a := src.As4()
			copy(data[4:], a[:])
		}
		return ctl
	}
	ctl, data := addControl(ctl, unix.SOL_IPV6, unix.IPV6_PKTINFO, unix.SizeofInet6Pktinfo)
	if src.Is6() {
		a := src.As16()
		copy(data, a[:])
	}
	binary.NativeEndian.PutUint32(data[16:], uint32(ifindex))
	return ctl
}

// addSegment appends the message that makes a bundle of datagrams of size bytes.
func addSegment(ctl []byte, size int) []byte {
	ctl, data := addControl(ctl, unix.SOL_UDP, unix.UDP_SEGMENT, shortLen)
	binary.NativeEndian.PutUint16(data, uint16(size))
	return ctl
}
