// SPDX-License-Identifier: MIT

package lane

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// putAddr writes a struct sockaddr_in or sockaddr_in6 into name, which has nameRoom
// bytes, and returns its length. On an IPv6 socket an IPv4 address takes its
// IPv6-mapped form. On an IPv4 socket an IPv6 address is written as what it is, for
// the kernel to refuse.
func putAddr(name []byte, ip6 bool, to netip.AddrPort, scope uint32) int {
	addr := to.Addr()
	if addr.Is4() && !ip6 {
		clear(name[:unix.SizeofSockaddrInet4])
		binary.NativeEndian.PutUint16(name, unix.AF_INET)
		binary.BigEndian.PutUint16(name[2:], to.Port())
		a := addr.As4()
		copy(name[4:], a[:])
		return unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(name, unix.AF_INET6)
	binary.BigEndian.PutUint16(name[2:], to.Port())
	clear(name[4:8]) // flow label
	a := addr.As16()
	copy(name[8:], a[:])
	binary.NativeEndian.PutUint32(name[24:], scope)
	return unix.SizeofSockaddrInet6
}

// parseAddr reads a struct sockaddr_in or sockaddr_in6. A scope that is not 0 is
// the interface of a link-local address. What is neither is not valid.
func parseAddr(name []byte) (from netip.AddrPort, scope uint32) {
	if len(name) < 2 {
		return netip.AddrPort{}, 0
	}
	switch family := binary.NativeEndian.Uint16(name); {
	case family == unix.AF_INET && len(name) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(name[4:])), binary.BigEndian.Uint16(name[2:])), 0
	case family == unix.AF_INET6 && len(name) >= unix.SizeofSockaddrInet6:
		addr := netip.AddrFrom16([16]byte(name[8:])).Unmap()
		return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(name[2:])), binary.NativeEndian.Uint32(name[24:])
	}
	return netip.AddrPort{}, 0
}

// zones translates between the names and the numbers of interfaces. It asks the
// socket, which answers for its own namespace: the calling thread may be in
// another one, where package net would look. An answer is kept for a second, so
// that renaming an interface takes that long to be seen.
//
// It is used under its owner's lock, with the lane's descriptor.
type zones struct {
	names   map[uint32]zoneName
	indexes map[string]zoneIndex
}

type zoneName struct {
	name string
	// link is an address with the name as its zone. As long as it is kept, giving
	// another address the same zone allocates nothing.
	link netip.Addr
	read time.Time
}

type zoneIndex struct {
	index uint32
	read  time.Time
}

const (
	zoneLife = time.Second
	maxZones = 64 // kept; interfaces come and go
)

// with gives a link-local address the name of its interface as zone, or the number
// where the interface is gone, as package net does.
func (z *zones) with(fd int, addr netip.Addr, index uint32) netip.Addr {
	known, ok := z.names[index]
	if !ok || time.Since(known.read) > zoneLife {
		name := interfaceName(fd, index)
		known = zoneName{name: name, link: addr.WithZone(name), read: time.Now()}
		if z.names == nil || len(z.names) >= maxZones {
			z.names = make(map[uint32]zoneName)
		}
		z.names[index] = known
	}
	return addr.WithZone(known.name)
}

func interfaceName(fd int, index uint32) string {
	req, err := unix.NewIfreq("")
	if err == nil {
		req.SetUint32(index)
		err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, req)
	}
	if err != nil {
		return strconv.FormatUint(uint64(index), 10)
	}
	return req.Name()
}

// index is the interface that a zone names, or 0 if there is none: the kernel then
// refuses the address.
func (z *zones) index(fd int, zone string) uint32 {
	if zone == "" {
		return 0
	}
	known, ok := z.indexes[zone]
	if ok && time.Since(known.read) <= zoneLife {
		return known.index
	}
	index := interfaceIndex(fd, zone)
	if z.indexes == nil || len(z.indexes) >= maxZones {
		z.indexes = make(map[string]zoneIndex)
	}
	z.indexes[zone] = zoneIndex{index: index, read: time.Now()}
	return index
}

func interfaceIndex(fd int, zone string) uint32 {
	req, err := unix.NewIfreq(zone)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
	}
	if err == nil {
		return req.Uint32()
	}
	n, err := strconv.ParseUint(zone, 10, 31)
	if err != nil {
		return 0
	}
	return uint32(n)
}
