// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
)

// foundRoute is a parsed RTM_NEWROUTE as it answers RTM_GETROUTE.
type foundRoute struct {
	typ      uint8 // RTN_...
	oif      int
	gateway  netip.Addr // invalid: the destination is on the link
	src      netip.Addr // the preferred one; invalid if the query had one
	mtu      int        // metric, or what is known of the path; 0: none
	hopLimit int        // metric; 0: none
	encap    bool
}

// parseRoute reads a struct rtmsg and the attributes after it:
//
//	family u8, dst_len u8, src_len u8, tos u8, table u8, protocol u8, scope u8, type u8, flags u32
func parseRoute(b []byte) (foundRoute, error) {
	if len(b) < unix.SizeofRtMsg {
		return foundRoute{}, fmt.Errorf("route message: %w", short(unix.SizeofRtMsg, b))
	}
	r := foundRoute{typ: b[7]}
	err := attributes(b[unix.SizeofRtMsg:], func(typ uint16, v []byte) error {
		switch typ {
		case unix.RTA_OIF:
			return setInt(&r.oif, v)
		case unix.RTA_GATEWAY:
			return setAddr(&r.gateway, v)
		case unix.RTA_VIA: // a gateway of another family: family u16, address
			if len(v) < 2 {
				return short(2, v)
			}
			return setAddr(&r.gateway, v[2:])
		case unix.RTA_PREFSRC:
			return setAddr(&r.src, v)
		case unix.RTA_ENCAP_TYPE:
			r.encap = true
		case unix.RTA_METRICS:
			return attributes(v, r.setMetric)
		}
		return nil
	})
	if err != nil {
		return foundRoute{}, fmt.Errorf("route message: %w", err)
	}
	return r, nil
}

func (r *foundRoute) setMetric(typ uint16, v []byte) error {
	switch typ {
	case unix.RTAX_MTU:
		return setInt(&r.mtu, v)
	case unix.RTAX_HOPLIMIT:
		// IPv6 had 2^32-1 for "none" once.
		var limit uint32
		if err := setUint32(&limit, v); err != nil {
			return err
		}
		if limit <= 255 {
			r.hopLimit = int(limit)
		}
	}
	return nil
}

// isCached tells a route message about a single destination that the kernel has
// cached, which concerns nobody else. Such a message need be no longer than this.
func isCached(b []byte) bool {
	return len(b) >= unix.SizeofRtMsg && binary.NativeEndian.Uint32(b[8:])&unix.RTM_F_CLONED != 0
}

// States in which the kernel uses the address of a neighbour, and those among them
// that it never confirms.
const (
	nudUsable = unix.NUD_PERMANENT | unix.NUD_NOARP | unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE
	nudFixed  = unix.NUD_PERMANENT | unix.NUD_NOARP
)

// ntfProxy marks an address that the kernel answers for others (NTF_PROXY): no
// neighbour at all.
const ntfProxy = 1 << 3

// neighbour is what the kernel has on a Hop. The zero value is one it has not.
type neighbour struct {
	state uint16     // NUD_...
	mac   packet.MAC // zero if it is not usable, or not six bytes, or zeros
}

func (n neighbour) usable() bool { return n.state&nudUsable != 0 }
func (n neighbour) fixed() bool  { return n.state&nudFixed != 0 }
func (n neighbour) failed() bool { return n.state&unix.NUD_FAILED != 0 }
func (n neighbour) stale() bool  { return n.state&unix.NUD_STALE != 0 }

// same tells whether an answer about n would be the same about o.
func (n neighbour) same(o neighbour) bool {
	return n.usable() == o.usable() && n.failed() == o.failed() && n.mac == o.mac
}

// parseNeighbour reads a struct ndmsg and the attributes after it; ok is false for
// what is no neighbour of IPv4 or IPv6.
//
//	family u8, pad u8, pad u16, ifindex i32, state u16, flags u8, type u8
func parseNeighbour(b []byte) (h Hop, n neighbour, ok bool, err error) {
	if len(b) < unix.SizeofNdMsg {
		return Hop{}, neighbour{}, false, fmt.Errorf("neighbour message: %w", short(unix.SizeofNdMsg, b))
	}
	family := b[0]
	if family != unix.AF_INET && family != unix.AF_INET6 || b[10]&ntfProxy != 0 {
		return Hop{}, neighbour{}, false, nil
	}
	h.Ifindex = int(int32(binary.NativeEndian.Uint32(b[4:])))
	n.state = binary.NativeEndian.Uint16(b[8:])
	err = attributes(b[unix.SizeofNdMsg:], func(typ uint16, v []byte) error {
		switch typ {
		case unix.NDA_DST:
			return setAddr(&h.Addr, v)
		case unix.NDA_LLADDR:
			n.mac, _ = packet.MACFrom(v)
		}
		return nil
	})
	if err == nil && !h.Addr.IsValid() {
		err = fmt.Errorf("no address: %w", unix.EBADMSG)
	}
	if err != nil {
		return Hop{}, neighbour{}, false, fmt.Errorf("neighbour message: %w", err)
	}
	if !n.usable() {
		n.mac = packet.MAC{}
	}
	return h, n, true, nil
}
