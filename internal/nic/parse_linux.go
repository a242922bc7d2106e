// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// linkMessage is a parsed RTM_NEWLINK or RTM_DELLINK.
type linkMessage struct {
	family uint8 // AF_UNSPEC; AF_BRIDGE tells about a bridge's port, not the interface
	link   Link  // what such a message holds: no addresses, driver, queues, features
}

// parseLink reads a struct ifinfomsg and the attributes after it:
//
//	family u8, pad u8, type u16, index i32, flags u32, change u32
func parseLink(b []byte) (linkMessage, error) {
	var m linkMessage
	if len(b) < unix.SizeofIfInfomsg {
		return m, fmt.Errorf("link message of %d bytes: %w", len(b), unix.EBADMSG)
	}
	m.family = b[0]
	l := &m.link
	l.Index = int(int32(binary.NativeEndian.Uint32(b[4:])))
	flags := binary.NativeEndian.Uint32(b[8:])
	l.Up = flags&unix.IFF_UP != 0
	l.Carrier = l.Up && flags&unix.IFF_LOWER_UP != 0
	err := walk(b[unix.SizeofIfInfomsg:], func(typ uint16, v []byte) error {
		if err := l.set(typ, v); err != nil {
			return fmt.Errorf("link attribute %d: %w", typ, err)
		}
		return nil
	})
	if peered(l.Kind) || l.Parent == l.Index {
		// IFLA_LINK is the other end here, and older kernels name the interface itself.
		l.Parent, l.ParentOutside = 0, false
	}
	l.Driver = l.Kind
	return m, err
}

// peered tells the kinds whose IFLA_LINK is the other end of a pair.
func peered(kind string) bool { return kind == "veth" || kind == "netkit" }

// set takes one attribute of a link message.
func (l *Link) set(typ uint16, v []byte) error {
	switch typ {
	case unix.IFLA_IFNAME:
		l.Name = unix.ByteSliceToString(v)
	case unix.IFLA_ADDRESS:
		l.MAC = net.HardwareAddr(bytes.Clone(v))
	case unix.IFLA_MTU:
		return setInt(&l.MTU, v)
	case unix.IFLA_LINK:
		return setInt(&l.Parent, v)
	case unix.IFLA_LINK_NETNSID:
		l.ParentOutside = true
	case unix.IFLA_NUM_RX_QUEUES:
		err := setInt(&l.MaxRxQueues, v)
		l.RxQueues = l.MaxRxQueues
		return err
	case unix.IFLA_NUM_TX_QUEUES:
		err := setInt(&l.MaxTxQueues, v)
		l.TxQueues = l.MaxTxQueues
		return err
	case unix.IFLA_LINKINFO:
		return l.setInfo(v)
	case unix.IFLA_XDP:
		var err error
		l.Programs, err = parsePrograms(v)
		return err
	}
	return nil
}

// setInfo takes IFLA_LINKINFO: the kind, and data that depends on it.
func (l *Link) setInfo(b []byte) error {
	var data []byte
	err := walk(b, func(typ uint16, v []byte) error {
		switch typ {
		case unix.IFLA_INFO_KIND:
			l.Kind = unix.ByteSliceToString(v)
		case unix.IFLA_INFO_DATA:
			data = v
		}
		return nil
	})
	if err != nil || l.Kind != "vlan" {
		return err
	}
	return walk(data, func(typ uint16, v []byte) error {
		if typ != unix.IFLA_VLAN_ID {
			return nil
		}
		id, err := u16(v)
		l.VLAN = int(id)
		return err
	})
}

// Values of IFLA_XDP_ATTACHED (linux/if_link.h).
const (
	xdpAttachedDrv = 1
	xdpAttachedSkb = 2
	xdpAttachedHw  = 3
)

// parsePrograms reads IFLA_XDP. Since Linux 4.17 there is an id for each mode;
// before, only the one id and the mode that it is for.
func parsePrograms(b []byte) ([]Program, error) {
	var attached uint8
	var single, drv, skb, hw uint32
	err := walk(b, func(typ uint16, v []byte) (err error) {
		switch typ {
		case unix.IFLA_XDP_ATTACHED:
			attached, err = u8(v)
		case unix.IFLA_XDP_PROG_ID:
			single, err = u32(v)
		case unix.IFLA_XDP_DRV_PROG_ID:
			drv, err = u32(v)
		case unix.IFLA_XDP_SKB_PROG_ID:
			skb, err = u32(v)
		case unix.IFLA_XDP_HW_PROG_ID:
			hw, err = u32(v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if drv == 0 && skb == 0 && hw == 0 {
		switch attached {
		case xdpAttachedDrv:
			drv = single
		case xdpAttachedSkb:
			skb = single
		case xdpAttachedHw:
			hw = single
		}
	}
	var programs []Program
	for _, p := range []Program{{ID: drv, Mode: ModeNative}, {ID: skb, Mode: ModeGeneric}, {ID: hw, Mode: ModeOffload}} {
		if p.ID != 0 {
			programs = append(programs, p)
		}
	}
	return programs, nil
}

// addrMessage is a parsed RTM_NEWADDR or RTM_DELADDR.
type addrMessage struct {
	index  int
	addr   netip.Prefix // not valid for families other than IPv4 and IPv6
	usable bool
}

// parseAddr reads a struct ifaddrmsg and the attributes after it:
//
//	family u8, prefix length u8, flags u8, scope u8, index u32
func parseAddr(b []byte) (addrMessage, error) {
	var m addrMessage
	if len(b) < unix.SizeofIfAddrmsg {
		return m, fmt.Errorf("address message of %d bytes: %w", len(b), unix.EBADMSG)
	}
	m.index = int(int32(binary.NativeEndian.Uint32(b[4:])))
	flags := uint32(b[2])
	var address, local []byte
	err := walk(b[unix.SizeofIfAddrmsg:], func(typ uint16, v []byte) (err error) {
		switch typ {
		case unix.IFA_ADDRESS:
			address = v
		case unix.IFA_LOCAL:
			local = v
		case unix.IFA_FLAGS: // all the flags, of which the header has room for eight
			flags, err = u32(v)
		}
		return err
	})
	if err != nil {
		return m, fmt.Errorf("address attribute: %w", err)
	}
	m.usable = flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 || flags&unix.IFA_F_OPTIMISTIC != 0
	if local == nil {
		local = address // on a point-to-point link the two differ, and local is ours
	}
	ip, ok := netip.AddrFromSlice(local)
	if !ok || ip.Is4() != (b[0] == unix.AF_INET) || ip.Is6() != (b[0] == unix.AF_INET6) {
		return m, fmt.Errorf("address of %d bytes in family %d: %w", len(local), b[0], unix.EBADMSG)
	}
	m.addr = netip.PrefixFrom(ip, int(b[1]))
	if !m.addr.IsValid() {
		return m, fmt.Errorf("address %v with a prefix of %d bits: %w", ip, b[1], unix.EBADMSG)
	}
	return m, nil
}
