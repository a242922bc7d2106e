// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// writeRows: what writes return, and what arrives.
func writeRows() []row {
	return []row{
		{name: "each way to write", ways: fastTx, want: "5 5 5 5 5, five arrive", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			a, _ := s.WriteTo([]byte("12345"), net.UDPAddrFromAddrPort(r.them()))
			b, _ := s.WriteToUDP([]byte("12345"), net.UDPAddrFromAddrPort(r.them()))
			c, _ := s.WriteToUDPAddrPort([]byte("12345"), r.them())
			d, _, _ := s.WriteMsgUDP([]byte("12345"), nil, net.UDPAddrFromAddrPort(r.them()))
			e, _, _ := s.WriteMsgUDPAddrPort([]byte("12345"), nil, r.them())
			for range 5 {
				if got := r.get(peer); got != `"12345" from us` {
					return got
				}
			}
			return fmt.Sprintf("%d %d %d %d %d, five arrive", a, b, c, d, e)
		}},
		{name: "empty datagram is sent", ways: fastTx, want: `0, 0, "" from us, "" from us`, run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			a := r.result(s.WriteToUDPAddrPort(nil, r.them()))
			b := r.result(s.WriteToUDPAddrPort([]byte{}, r.them()))
			return a + ", " + b + ", " + r.get(peer) + ", " + r.get(peer)
		}},
		{name: "the buffer is the caller's again", ways: fastTx, want: `"first" from us`, run: func(r *rig) string {
			if r.kind == xdpathSocket {
				r.cfg.Coalesce = Coalesce{Frames: 100, Delay: 10 * time.Millisecond}
			}
			s, peer := r.both()
			r.warm(s, peer)
			b := []byte("first")
			if _, err := s.WriteToUDPAddrPort(b, r.them()); err != nil {
				return r.told(err)
			}
			copy(b, "later")
			return r.get(peer)
		}},
		{name: "neighbour asked for", alone: true, ways: kernelTx, want: "0 to 49 in order", run: func(r *rig) string {
			s, peer := r.both()
			for i := range 50 {
				if err := write(s, r.them(), fmt.Sprint(i)); err != nil {
					return r.told(err)
				}
			}
			for i := range 50 {
				if got := r.get(peer); got != fmt.Sprintf("%q from us", fmt.Sprint(i)) {
					return got
				}
			}
			return "0 to 49 in order"
		}},
		{name: "no such neighbour", want: "ok", run: func(r *rig) string {
			return r.told(write(r.listen(r.us()), netip.MustParseAddrPort("10.9.0.77:4000"), "hello"))
		}},
		{name: "nobody listens there", want: "ok ok ok", run: func(r *rig) string {
			s, to := r.listen(r.us()), r.them()
			one := write(s, to, "one")
			r.direct(s, to)
			return fmt.Sprint(r.told(one), " ", r.told(write(s, to, "two")), " ", r.told(write(s, to, "three")))
		}},
		{name: "WriteTo nil", want: "write udp us>- EINVAL", run: func(r *rig) string {
			return r.result(r.listen(r.us()).WriteTo([]byte("hello"), nil))
		}},
		{name: "WriteTo nil pointer", want: "write udp us>- missing address", run: func(r *rig) string {
			return r.result(r.listen(r.us()).WriteTo([]byte("hello"), (*net.UDPAddr)(nil)))
		}},
		{name: "WriteTo another type", want: "write udp us>tcp 10.9.0.1:4000 EINVAL", run: func(r *rig) string {
			return r.result(r.listen(r.us()).WriteTo([]byte("hello"), &net.TCPAddr{IP: net.IPv4(10, 9, 0, 1), Port: 4000}))
		}},
		{name: "WriteToUDP nil", want: "write udp us>- missing address", run: func(r *rig) string {
			return r.result(r.listen(r.us()).WriteToUDP([]byte("hello"), nil))
		}},
		{name: "WriteToUDPAddrPort nowhere", want: "write udp us>invalid AddrPort missing address", run: func(r *rig) string {
			return r.result(r.listen(r.us()).WriteToUDPAddrPort([]byte("hello"), netip.AddrPort{}))
		}},
		{name: "WriteMsg nowhere", want: "write udp us>- missing address", run: func(r *rig) string {
			n, _, err := r.listen(r.us()).WriteMsgUDP([]byte("hello"), nil, nil)
			return r.result(n, err)
		}},
		{name: "WriteMsg with control data", want: "5, control data true",
			ours:       "write udp us>them ENOTSUP",
			everywhere: true,
			why:        "control messages are the kernel's language; Outgoing has fields for what can be said of a datagram",
			run: func(r *rig) string {
				s := r.listen(r.us())
				n, oobn, err := s.WriteMsgUDPAddrPort([]byte("hello"), nil, r.them())
				if n != 5 || oobn != 0 || err != nil {
					return r.told(err)
				}
				oob := (&ipv4.ControlMessage{Src: net.IP(r.pair.B.IP4.AsSlice())}).Marshal()
				n, oobn, err = s.WriteMsgUDPAddrPort([]byte("hello"), oob, r.them())
				if err != nil {
					return r.told(err)
				}
				return fmt.Sprintf("%d, control data %t", n, oobn == len(oob))
			}},
		{name: "port 0", want: "write udp us>A:0 EINVAL", run: func(r *rig) string {
			return r.told(write(r.listen(r.us()), netip.AddrPortFrom(r.pair.A.IP4, 0), "hello"))
		}},
		{name: "65507 bytes are the most", ways: kernelTx, want: "65507, write udp us>them EMSGSIZE, write udp us>them EMSGSIZE", run: func(r *rig) string {
			s := r.listen(r.us())
			return r.result(s.WriteToUDPAddrPort(make([]byte, 65507), r.them())) + ", " +
				r.result(s.WriteToUDPAddrPort(make([]byte, 65508), r.them())) + ", " +
				r.result(s.WriteToUDPAddrPort(make([]byte, 1<<20), r.them()))
		}},
		{name: "Write without a peer", want: "write udp us>- EDESTADDRREQ", run: func(r *rig) string {
			return r.result(r.listen(r.us()).Write([]byte("hello")))
		}},
		{name: "broadcast without being asked", want: "ok",
			ours:       "write udp us>10.9.0.255:them+0 EACCES",
			everywhere: true,
			why:        "the kernel's own rule: package net lifts it for every socket, Config.Broadcast for one",
			run: func(r *rig) string {
				return r.told(write(r.listen(r.us()), netip.MustParseAddrPort("10.9.0.255:"+fmt.Sprint(r.peerPort)), "hello"))
			}},
		{name: "broadcast", ways: fastTx, want: `ok, "subnet" from us, ok, "limited" from us`, run: func(r *rig) string {
			r.cfg.Broadcast = true
			s, peer := r.listen(r.us()), r.peerAt(netip.AddrPortFrom(any4, r.peerPort))
			one := r.told(write(s, netip.AddrPortFrom(netip.MustParseAddr("10.9.0.255"), r.peerPort), "subnet"))
			two := r.get(peer)
			three := r.told(write(s, netip.AddrPortFrom(netip.MustParseAddr("255.255.255.255"), r.peerPort), "limited"))
			return one + ", " + two + ", " + three + ", " + r.get(peer)
		}},
		{name: "broadcast is received on any address", ways: kernelRx, want: `"to all" from them`, run: func(r *rig) string {
			s, peer := r.listen(r.at(netip.Addr{})), r.peer()
			r.send(peer, r.at(netip.MustParseAddr("10.9.0.255")), "to all")
			return r.get(s)
		}},
		{name: "broadcast is not received on one address", want: `"to us" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.at(netip.MustParseAddr("10.9.0.255")), "to all")
			r.send(peer, r.us(), "to us")
			return r.get(s)
		}},
	}
}

// routeRows: where the kernel's tables lead.
func routeRows() []row {
	rows := []row{
		{name: "no route", want: "write udp us>192.0.2.1:9 ENETUNREACH", run: func(r *rig) string {
			return r.told(write(r.listen(r.us()), netip.MustParseAddrPort("192.0.2.1:9"), "hello"))
		}},
		{name: "through a gateway", alone: true, ways: fastTx, want: `ok, "one" from us, ok, "two" from us`, run: func(r *rig) string {
			far := netip.MustParseAddr("10.50.0.1")
			if err := keep(r.pair.A.AddAddr(netip.PrefixFrom(far, 32)), r.pair.B.AddRoute(netip.PrefixFrom(far, 24), r.pair.A.IP4)); err != nil {
				return err.Error()
			}
			s, to := r.listen(r.us()), netip.AddrPortFrom(far, r.peerPort)
			peer := r.peerAt(to)
			one, got := r.told(write(s, to, "one")), r.get(peer)
			r.direct(s, to)
			return one + ", " + got + ", " + r.told(write(s, to, "two")) + ", " + r.get(peer)
		}},
		{name: "route taken away", alone: true, want: "ok, write udp us>10.50.0.1:9 ENETUNREACH", run: func(r *rig) string {
			far := netip.MustParsePrefix("10.50.0.0/24")
			if err := r.pair.B.AddRoute(far, r.pair.A.IP4); err != nil {
				return err.Error()
			}
			s, to := r.listen(r.us()), netip.MustParseAddrPort("10.50.0.1:9")
			one := write(s, to, "one")
			if err := r.route(unix.RTN_UNICAST, far.String(), false); err != nil {
				return err.Error()
			}
			return r.told(one) + ", " + r.told(r.failing(s, to))
		}},
		{name: "own link down", alone: true, want: "ok, write udp us>them ENETUNREACH", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			one := write(s, r.them(), "one")
			if err := r.pair.B.SetUp(false); err != nil {
				return err.Error()
			}
			// ENETDOWN is what ours may say until it hears that the route is gone.
			for err := r.failing(s, r.them()); errors.Is(err, syscall.ENETDOWN); {
				err = r.failing(s, r.them())
			}
			return r.told(one) + ", " + r.told(r.failing(s, r.them()))
		}},
		{name: "own link down and up again", alone: true, ways: fastRx, want: `"again" from them, "back" from us`, run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			if err := keep(keep(r.pair.B.SetUp(false), r.pair.B.SetUp(true)), r.pair.B.WaitUp()); err != nil {
				return err.Error()
			}
			r.send(peer, r.us(), "again")
			got := r.get(s)
			r.eventually("a route", func() bool { return write(s, r.them(), "back") == nil })
			return got + ", " + r.get(peer)
		}},
		{name: "peer's link down", alone: true, want: "ok", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			if err := r.pair.A.SetUp(false); err != nil {
				return err.Error()
			}
			return r.told(write(s, r.them(), "hello"))
		}},
	}
	for _, x := range []struct {
		name string
		kind int
		want string
	}{
		{"prohibit", unix.RTN_PROHIBIT, "EACCES"},
		{"unreachable", unix.RTN_UNREACHABLE, "EHOSTUNREACH"},
		{"blackhole", unix.RTN_BLACKHOLE, "EINVAL"},
		{"throw", unix.RTN_THROW, "ENETUNREACH"},
	} {
		rows = append(rows, row{name: "route of type " + x.name, want: "write udp us>10.60.0.1:9 " + x.want, run: func(r *rig) string {
			if err := r.route(x.kind, "10.60.0.0/24", true); err != nil {
				return err.Error()
			}
			defer r.route(x.kind, "10.60.0.0/24", false)
			return r.told(write(r.listen(r.us()), netip.MustParseAddrPort("10.60.0.1:9"), "hello"))
		}})
	}
	return rows
}

// failing sends until that fails: ours hears a moment later of what has changed.
func (r *rig) failing(s socket, to netip.AddrPort) (err error) {
	r.Helper()
	r.eventually("an error", func() bool { err = write(s, to, "hello"); return err != nil })
	return err
}

// route adds a route of a type on our end, or takes it away.
func (r *rig) route(kind int, dst string, add bool) error {
	r.Helper()
	p := netip.MustParsePrefix(dst)
	route := &netlink.Route{Type: kind, Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
	return r.pair.B.NS.Do(func() error {
		if add {
			return netlink.RouteAdd(route)
		}
		return netlink.RouteDel(route)
	})
}
