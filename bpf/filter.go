// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// maxVLAN is the highest VLAN id; 4095 is reserved (IEEE 802.1Q, table 9-2).
const maxVLAN = 4094

// Filter names the datagrams to take by their destination.
type Filter struct {
	// Addr is destination address and port. The port must not be 0.
	//
	// The address may be a unicast address, or a multicast group, which is then
	// taken under the group's own MAC address. 0.0.0.0 means any unicast IPv4
	// address, :: any unicast IPv6 address, the invalid address both. "Any" takes
	// all that is sent to the interface's MAC address: on a machine that forwards,
	// name the addresses. A zone is ignored.
	Addr netip.AddrPort

	// VLAN is the one VLAN id to take, or 0 for untagged and priority-tagged frames.
	VLAN uint16
}

// String gives address, port and VLAN, as in "10.9.0.2:5000 vlan 7".
func (f Filter) String() string {
	s := f.Addr.String()
	if !f.Addr.Addr().IsValid() {
		s = fmt.Sprintf("*:%d", f.Addr.Port())
	}
	if f.VLAN != 0 {
		s += fmt.Sprintf(" vlan %d", f.VLAN)
	}
	return s
}

// validate refuses what could never match.
func (f Filter) validate() error {
	switch {
	case f.Addr.Port() == 0:
		return fmt.Errorf("bpf: filter %s: port 0 is no destination", f)
	case f.VLAN > maxVLAN:
		return fmt.Errorf("bpf: filter %s: VLAN is above %d", f, maxVLAN)
	case f.Addr.Addr().Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("bpf: filter %s: broadcast always goes to the kernel", f)
	}
	return nil
}

// keySize is the size of struct key in xdp.c:
//
//	0        16     18     20       21    24
//	| address | port | vlan | family | zero |
//
// all in network byte order, an IPv4 address in the first four bytes.
const keySize = 24

// keys gives the entries of the filter map that stand for f: one, or one per
// address family.
func (f Filter) keys() [][keySize]byte {
	addr := f.Addr.Addr().Unmap()
	key := func(family byte, addr []byte) (k [keySize]byte) {
		copy(k[:16], addr)
		binary.BigEndian.PutUint16(k[16:], f.Addr.Port())
		binary.BigEndian.PutUint16(k[18:], f.VLAN)
		k[20] = family
		return k
	}
	switch {
	case addr.Is4():
		return [][keySize]byte{key(4, addr.AsSlice())}
	case addr.Is6():
		return [][keySize]byte{key(6, addr.AsSlice())}
	}
	return [][keySize]byte{key(4, nil), key(6, nil)}
}
