// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
)

// Resolve asks the kernel how it would send a datagram. It does not wait: a next hop
// whose address is not known is Unresolved.
//
// The error says that the kernel would not send it at all, with the errno that a
// socket would get: ENETUNREACH without a route, EHOSTUNREACH, EACCES and EINVAL
// from unreachable, prohibit and blackhole routes, ENETUNREACH (EINVAL on older
// kernels) for an IPv4 source that is not this host's, EINVAL for addresses of two
// families, ENODEV for an interface or zone that does not exist. After Close it is
// net.ErrClosed. Answer.Gen is set beside an error as well.
func (t *Table) Resolve(q Query) (Answer, error) {
	// Read before anything is asked for: what changes meanwhile makes the answer old.
	a := Answer{Gen: t.gen.load()}
	if err := t.resolve(&a, q.normal()); err != nil {
		return Answer{Gen: a.Gen}, fmt.Errorf("route: resolve %v: %w", q.Dst, err)
	}
	return a, nil
}

// normal returns the query in the form in which the kernel knows its addresses.
func (q Query) normal() Query {
	q.Dst, q.Src = q.Dst.Unmap(), q.Src.Unmap().WithZone("")
	switch q.Dst {
	case netip.IPv4Unspecified():
		q.Dst = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case netip.IPv6Unspecified():
		q.Dst = netip.IPv6Loopback()
	}
	if !q.Src.IsValid() || q.Src.IsUnspecified() {
		q.Src = netip.Addr{}
	}
	return q
}

func (t *Table) resolve(a *Answer, q Query) error {
	oif, err := t.oif(q.Dst)
	if err != nil {
		return err
	}
	q.Dst = q.Dst.WithZone("")
	r, err := t.find(q, oif)
	if err != nil {
		return err
	}
	l, known := t.mirror.link(r.oif)
	if !known {
		return fmt.Errorf("interface %d is gone: %w", r.oif, unix.ENODEV)
	}
	a.NextHop = Hop{Ifindex: r.oif, Addr: q.Dst}
	if r.gateway.IsValid() {
		a.NextHop.Addr = r.gateway
	}
	a.SrcMAC, a.VLAN = l.mac, l.vlan
	a.HopLimit = uint8(r.hopLimit)
	a.MTU = lowest(l.mtu, r.mtu)
	if q.Dst.Is6() {
		a.MTU = lowest(a.MTU, l.mtu6)
	}
	if a.Src = q.Src; !a.Src.IsValid() {
		a.Src = r.src
	}
	a.Kind = t.kind(q.Dst, r, l)
	return t.address(a, q.Dst)
}

// lowest returns the smaller of two sizes of which 0 says nothing.
func lowest(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// oif is the interface to which a lookup is bound, 0 for the rules and routes to
// decide: what has no meaning without an interface is meant on ours.
func (t *Table) oif(dst netip.Addr) (int, error) {
	if !dst.IsMulticast() && (!dst.IsLinkLocalUnicast() || dst.Is4()) && dst != limitedBroadcast() {
		return 0, nil
	}
	if dst.Zone() == "" {
		return t.cfg.Ifindex, nil
	}
	index := t.mirror.zone(dst.Zone())
	if index == 0 {
		return 0, fmt.Errorf("no interface for the zone: %w", unix.ENODEV)
	}
	return index, nil
}

func limitedBroadcast() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

// find asks for the route.
func (t *Table) find(q Query, oif int) (foundRoute, error) {
	if !q.Dst.IsValid() || q.Src.IsValid() && q.Src.Is4() != q.Dst.Is4() {
		return foundRoute{}, fmt.Errorf("no address, or another family than that of source %v: %w", q.Src, unix.EINVAL)
	}
	var r foundRoute
	err := t.routes.do(unix.RTM_GETROUTE, 0, routeRequest(q, oif), func(b []byte) (err error) {
		r, err = parseRoute(b)
		return err
	})
	if err != nil {
		return foundRoute{}, err
	}
	return r, routeError(r.typ)
}

// routeError is the error of a route that leads nowhere. The kernel gives it in
// place of such a route, most of the time.
func routeError(typ uint8) error {
	switch typ {
	case unix.RTN_BLACKHOLE:
		return unix.EINVAL
	case unix.RTN_UNREACHABLE:
		return unix.EHOSTUNREACH
	case unix.RTN_PROHIBIT:
		return unix.EACCES
	case unix.RTN_UNSPEC, unix.RTN_THROW:
		return unix.ENETUNREACH
	}
	return nil
}

// routeRequest is the body of RTM_GETROUTE: a struct rtmsg, and attributes. The
// protocol counts for rules and for how next hops are shared out, as ports do.
func routeRequest(q Query, oif int) []byte {
	b := make([]byte, unix.SizeofRtMsg, 128)
	b[0], b[1] = unix.AF_INET6, 128
	if q.Dst.Is4() {
		b[0], b[1] = unix.AF_INET, 32
	}
	b[3] = q.TOS &^ 3
	b = putAddr(b, unix.RTA_DST, q.Dst)
	if q.Src.IsValid() {
		b[2] = b[1]
		b = putAddr(b, unix.RTA_SRC, q.Src)
	}
	if oif != 0 {
		b = putUint32(b, unix.RTA_OIF, uint32(oif))
	}
	if q.Mark != 0 {
		b = putUint32(b, unix.RTA_MARK, q.Mark)
	}
	b = putAttr(b, unix.RTA_IP_PROTO, []byte{unix.IPPROTO_UDP})
	if q.SrcPort != 0 {
		b = putPort(b, unix.RTA_SPORT, q.SrcPort)
	}
	if q.DstPort != 0 {
		b = putPort(b, unix.RTA_DPORT, q.DstPort)
	}
	return b
}

// kind tells who can send by the route. Unicast may turn out to be Unresolved.
func (t *Table) kind(dst netip.Addr, r foundRoute, l link) Kind {
	switch {
	case r.typ == unix.RTN_LOCAL || r.typ == unix.RTN_ANYCAST || dst.IsInterfaceLocalMulticast():
		return Local
	case !t.mirror.accept[r.oif]:
		return OtherInterface
	case r.encap || !l.ethernet || l.tagType != 0 && l.tagType != tag8021Q:
		return KernelOnly
	case dst.IsMulticast():
		return Multicast
	case r.typ == unix.RTN_BROADCAST:
		return Broadcast
	}
	return Unicast
}

// address fills in the MAC.
func (t *Table) address(a *Answer, dst netip.Addr) error {
	switch a.Kind {
	case Multicast:
		a.MAC, _ = packet.GroupMAC(dst)
	case Broadcast:
		a.MAC = packet.BroadcastMAC()
	case Unicast:
		n, err := t.neighbour(a.NextHop)
		switch {
		case err != nil:
			return err
		case !n.usable():
			a.Kind, a.Failed = Unresolved, n.failed()
		case n.mac == packet.MAC{}:
			a.Kind = KernelOnly
		default:
			a.MAC = n.mac
		}
	}
	return nil
}

// neighbour returns what the kernel knows of a next hop.
func (t *Table) neighbour(h Hop) (neighbour, error) {
	n, purged := t.mirror.ask(h)
	if purged {
		t.changed(neighbourChanged)
	}
	if n.usable() {
		return n, nil
	}
	// Entries that need no resolution are made without a notification. Others are
	// told soon, but here and now is better.
	now, err := t.lookUp(h)
	if err != nil {
		return neighbour{}, err
	}
	if now.usable() || now.failed() {
		n = now
	}
	return n, nil
}

// lookUpTries is how often a neighbour is asked for again that may have changed
// between the kernel's answer and now.
const lookUpTries = 5

// lookUp asks the kernel for a neighbour, and puts what it says into the mirror. An
// entry being resolved says nothing that is not known from before.
func (t *Table) lookUp(h Hop) (neighbour, error) {
	for range lookUpTries {
		before := t.mirror.told()
		n, err := t.askNeighbour(h)
		if err != nil {
			return neighbour{}, fmt.Errorf("look up neighbour %v: %w", h.Addr, err)
		}
		if !n.usable() && !n.failed() {
			return n, nil
		}
		recorded, news := t.mirror.record(h, n, before)
		if news {
			t.changed(neighbourChanged)
		}
		if recorded {
			return n, nil
		}
	}
	return t.mirror.neighbour(h), nil
}

// askNeighbour asks the kernel for a neighbour. The zero value is none.
func (t *Table) askNeighbour(h Hop) (n neighbour, err error) {
	body := putAddr(neighbourHeader(h, 0), unix.NDA_DST, h.Addr)
	err = t.slow.do(unix.RTM_GETNEIGH, 0, body, func(b []byte) error {
		of, found, ok, err := parseNeighbour(b)
		if ok && of == h {
			n = found
		}
		return err
	})
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL):
		return neighbour{}, nil // none, or no interface or protocol that could have one
	case errors.Is(err, unix.EOPNOTSUPP):
		return t.mirror.neighbour(h), nil // before Linux 5.0 it cannot be asked for
	}
	return n, err
}

// neighbourHeader is the struct ndmsg of a request, with room for attributes.
func neighbourHeader(h Hop, flags uint8) []byte {
	b := make([]byte, unix.SizeofNdMsg, 64)
	b[0] = unix.AF_INET6
	if h.Addr.Is4() {
		b[0] = unix.AF_INET
	}
	binary.NativeEndian.PutUint32(b[4:], uint32(h.Ifindex))
	b[10] = flags
	return b
}
