// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
)

// link is what answers need to know of an interface, and what tells that routes may
// have changed with it. Two links are compared as a whole.
type link struct {
	name     string
	flags    uint32 // those of linkFlags
	ethernet bool
	mac      packet.MAC // zero if it has none of six bytes
	mtu      int
	mtu6     int // for IPv6, where a router may have told a smaller one; 0: unknown
	parent   int // of a VLAN interface
	master   int // the bridge, bond or VRF it belongs to
	vlan     uint16
	tagType  uint16 // Ethernet type of the tag, 0 without
}

// linkFlags are those that the kernel heeds when it chooses routes and neighbours.
const linkFlags = unix.IFF_UP | unix.IFF_LOWER_UP | unix.IFF_NOARP | unix.IFF_POINTOPOINT

// tag8021Q is the Ethernet type of the only tag that a sender can put on himself.
const tag8021Q = unix.ETH_P_8021Q

// foundLink is a parsed RTM_NEWLINK or RTM_DELLINK.
type foundLink struct {
	family uint8 // AF_UNSPEC: the interface; others tell about it as they see it
	index  int
	link   link
}

// parseLink reads a struct ifinfomsg and the attributes after it:
//
//	family u8, pad u8, type u16, index i32, flags u32, change u32
func parseLink(b []byte) (foundLink, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return foundLink{}, fmt.Errorf("link message: %w", short(unix.SizeofIfInfomsg, b))
	}
	m := foundLink{family: b[0], index: int(int32(binary.NativeEndian.Uint32(b[4:])))}
	m.link.ethernet = binary.NativeEndian.Uint16(b[2:]) == unix.ARPHRD_ETHER
	m.link.flags = binary.NativeEndian.Uint32(b[8:]) & linkFlags
	if err := attributes(b[unix.SizeofIfInfomsg:], m.set); err != nil {
		return foundLink{}, fmt.Errorf("link message: %w", err)
	}
	if m.link.tagType == 0 {
		m.link.parent = 0 // IFLA_LINK is the other end of a veth, a tunnel's lower side...
	}
	return m, nil
}

func (m *foundLink) set(typ uint16, v []byte) error {
	switch typ {
	case unix.IFLA_IFNAME:
		m.link.name = unix.ByteSliceToString(v)
	case unix.IFLA_ADDRESS:
		m.link.mac, _ = packet.MACFrom(v)
	case unix.IFLA_MTU:
		return setInt(&m.link.mtu, v)
	case unix.IFLA_LINK:
		return setInt(&m.link.parent, v)
	case unix.IFLA_MASTER:
		return setInt(&m.link.master, v)
	case unix.IFLA_LINKINFO:
		return m.link.setInfo(v)
	case unix.IFLA_AF_SPEC:
		if m.family != unix.AF_UNSPEC {
			return nil // a bridge has its VLANs there
		}
		return attributes(v, func(family uint16, v []byte) error {
			if family != unix.AF_INET6 {
				return nil
			}
			return attributes(v, m.link.setIPv6)
		})
	case unix.IFLA_PROTINFO:
		if m.family == unix.AF_INET6 {
			return attributes(v, m.link.setIPv6)
		}
	}
	return nil
}

// setInfo takes IFLA_LINKINFO: the kind, and what depends on it.
func (l *link) setInfo(b []byte) error {
	var kind string
	var data []byte
	err := attributes(b, func(typ uint16, v []byte) error {
		switch typ {
		case unix.IFLA_INFO_KIND:
			kind = unix.ByteSliceToString(v)
		case unix.IFLA_INFO_DATA:
			data = v
		}
		return nil
	})
	if err != nil || kind != "vlan" {
		return err
	}
	l.tagType = tag8021Q // the only one before Linux 3.10, which did not tell
	return attributes(data, func(typ uint16, v []byte) error {
		switch {
		case typ != unix.IFLA_VLAN_ID && typ != unix.IFLA_VLAN_PROTOCOL:
		case len(v) < 2:
			return short(2, v)
		case typ == unix.IFLA_VLAN_ID:
			l.vlan = binary.NativeEndian.Uint16(v)
		default:
			l.tagType = binary.BigEndian.Uint16(v)
		}
		return nil
	})
}

// confMTU6 is the place of the MTU among the 32-bit settings of IPv6
// (DEVCONF_MTU6 in linux/ipv6.h).
const confMTU6 = 2

// setIPv6 takes what IPv6 has to say about the interface.
func (l *link) setIPv6(typ uint16, v []byte) error {
	if typ != unix.IFLA_INET6_CONF {
		return nil
	}
	if len(v) < 4*(confMTU6+1) {
		return short(4*(confMTU6+1), v)
	}
	return setInt(&l.mtu6, v[4*confMTU6:])
}
