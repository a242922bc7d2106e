// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/xdpath/xdpath/internal/testnet"
)

var (
	loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	any4     = netip.IPv4Unspecified()
	any6     = netip.IPv6Unspecified()
)

// at is an address with the socket's port.
func (r *rig) at(a netip.Addr) netip.AddrPort { return netip.AddrPortFrom(a, r.port) }

// peerOn is the peer's n-th port.
func (r *rig) peerOn(n uint16) netip.AddrPort {
	return netip.AddrPortFrom(r.pair.A.IP4, r.peerPort+n)
}

// addressRows: what addresses look like, and which are this host's.
func addressRows() []row {
	return []row{
		{name: "LocalAddr", want: "*net.UDPAddr us with 4 bytes", run: func(r *rig) string {
			return r.addr(r.listen(r.us()).LocalAddr())
		}},
		{name: "LocalAddr of any address", want: "*net.UDPAddr :::us with 16 bytes", run: func(r *rig) string {
			return r.addr(r.listen(r.at(netip.Addr{})).LocalAddr())
		}},
		{name: "LocalAddr of any IPv6 address", want: "*net.UDPAddr :::us with 16 bytes", run: func(r *rig) string {
			return r.addr(r.listen(r.at(any6)).LocalAddr())
		}},
		{name: "LocalAddr of any IPv4 address", want: "*net.UDPAddr :::us with 16 bytes",
			ours:       "*net.UDPAddr 0.0.0.0:us with 4 bytes",
			everywhere: true,
			why:        `a Config has no network "udp4": 0.0.0.0 says it, and no address says both`,
			run: func(r *rig) string {
				return r.addr(r.listen(r.at(any4)).LocalAddr())
			}},
		{name: "RemoteAddr without a peer", want: "nil", run: func(r *rig) string {
			return r.addr(r.listen(r.us()).RemoteAddr())
		}},
		{name: "addresses of a connected socket", want: "*net.UDPAddr us with 4 bytes, *net.UDPAddr them with 4 bytes", run: func(r *rig) string {
			s, _ := r.connected()
			return r.addr(s.LocalAddr()) + ", " + r.addr(s.RemoteAddr())
		}},
		{name: "Dial chooses address and port", want: "*net.UDPAddr B:any with 4 bytes", run: func(r *rig) string {
			r.peer()
			return r.addr(r.dial(netip.AddrPort{}, r.them()).LocalAddr())
		}},
		{name: "port 0 is a free port", want: "B:any and B:any, different true", run: func(r *rig) string {
			a := r.listen(netip.AddrPortFrom(r.pair.B.IP4, 0)).LocalAddr().(*net.UDPAddr).AddrPort()
			k, err := openKernel(r.pair.B.NS, netip.AddrPortFrom(r.pair.B.IP4, 0), netip.AddrPort{})
			if err != nil {
				return r.told(err)
			}
			defer k.Close()
			b := k.LocalAddr().(*net.UDPAddr).AddrPort()
			return fmt.Sprintf("%s and %s, different %t", r.who(a), r.who(b), a != b)
		}},
		{name: "bytes of a port", ways: fast, want: `"to 1234" from A:4660, "to 1234" from A:13330; "re" from B:4660, "re" from B:4660`, run: func(r *rig) string {
			s := r.listen(netip.AddrPortFrom(r.pair.B.IP4, 0x1234))
			x, y := r.peerAt(netip.AddrPortFrom(r.pair.A.IP4, 0x1234)), r.peerAt(netip.AddrPortFrom(r.pair.A.IP4, 0x3412))
			var got [4]string
			for i, p := range []*net.UDPConn{x, y} {
				r.send(p, netip.AddrPortFrom(r.pair.B.IP4, 0x3412), "to 3412")
				r.send(p, netip.AddrPortFrom(r.pair.B.IP4, 0x1234), "to 1234")
				got[i] = r.get(s)
			}
			for i, p := range []*net.UDPConn{x, y} {
				if _, err := s.WriteTo([]byte("re"), p.LocalAddr()); err != nil {
					return r.told(err)
				}
				got[2+i] = r.get(p)
			}
			return fmt.Sprintf("%s, %s; %s, %s", got[0], got[1], got[2], got[3])
		}},
		{name: "own address", ways: kernelRx | kernelTx, want: `ok, "to myself" from us`, run: func(r *rig) string {
			s := r.listen(r.us())
			return r.told(write(s, r.us(), "to myself")) + ", " + r.get(s)
		}},
		{name: "local program, own address", ways: kernelRx | kernelTx, want: `"there" from us, "back" from B:them+0`, run: func(r *rig) string {
			return r.local(r.us(), r.pair.B.IP4, r.us())
		}},
		{name: "local program, loopback", ways: kernelRx | kernelTx, want: `"there" from 127.0.0.1:us, "back" from 127.0.0.1:them+0`, run: func(r *rig) string {
			return r.local(r.at(netip.Addr{}), loopback, r.at(loopback))
		}},
		{name: "to loopback from an address", ways: kernelTx, want: `ok, "hello" from us`, run: func(r *rig) string {
			s, other := r.listen(r.us()), r.neighbour(loopback)
			return r.told(write(s, netip.AddrPortFrom(loopback, r.peerPort), "hello")) + ", " + r.get(other)
		}},
		{name: "to the unspecified address", ways: kernelTx, want: `ok, "hello" from us`, run: func(r *rig) string {
			s, other := r.listen(r.us()), r.neighbour(any4)
			return r.told(write(s, netip.AddrPortFrom(any4, r.peerPort), "hello")) + ", " + r.get(other)
		}},
		{name: "to no IP", ways: kernelTx, want: `5, "hello" from us`, run: func(r *rig) string {
			s, other := r.listen(r.us()), r.neighbour(any4)
			return r.result(s.WriteTo([]byte("hello"), &net.UDPAddr{Port: int(r.peerPort)})) + ", " + r.get(other)
		}},
		{name: "second address of the interface", alone: true, ways: fast, want: `"hello" from them, ok, "back" from B:us`, run: func(r *rig) string {
			second := netip.MustParseAddr("10.9.0.22")
			if err := r.pair.B.AddAddr(netip.PrefixFrom(second, 24)); err != nil {
				return err.Error()
			}
			s, peer := r.listen(r.at(second)), r.peer()
			r.send(peer, r.us(), "to the first address")
			r.send(peer, r.at(second), "hello")
			got := r.get(s)
			err := write(s, r.them(), "back")
			text := r.get(peer)
			if text == `"back" from 10.9.0.22:us` {
				text = `"back" from B:us`
			}
			return got + ", " + r.told(err) + ", " + text
		}},
	}
}

// neighbour opens a kernel socket beside the one under test, on the peer's port.
func (r *rig) neighbour(a netip.Addr) *net.UDPConn {
	r.Helper()
	return kernelIn(r, r.pair.B.NS, netip.AddrPortFrom(a, r.peerPort))
}

// local has a program beside ours send to an address, and get an answer.
func (r *rig) local(listen netip.AddrPort, from netip.Addr, to netip.AddrPort) string {
	r.Helper()
	s, other := r.listen(listen), r.neighbour(from)
	r.send(other, to, "there")
	s.SetReadDeadline(deadline())
	n, src, err := s.ReadFromUDPAddrPort(r.buf)
	if err != nil || string(r.buf[:n]) != "there" {
		return r.datagram(r.buf[:n], src, err)
	}
	if _, err := s.WriteToUDPAddrPort([]byte("back"), src); err != nil {
		return r.told(err)
	}
	there := r.get(other)
	return fmt.Sprintf("%q from %s, %q from %s", "there", r.whoElse(there), "back", r.who(unmapped(src)))
}

// whoElse takes the sender out of what get says.
func (r *rig) whoElse(got string) string {
	var text, who string
	if _, err := fmt.Sscanf(got, "%q from %s", &text, &who); err != nil || text != "back" {
		return got
	}
	return who
}

// ip6Rows: IPv6, and both families at once.
func ip6Rows() []row {
	both := testnet.Config{IPv6: true}
	return []row{
		{name: "IPv6 there and back", net: both, ways: fast, want: `"hello" from them, ok, "back" from us`, run: func(r *rig) string {
			s, peer := r.listen(r.us6()), r.peerAt(r.them6())
			r.warm(s, peer)
			r.send(peer, r.us6(), "hello")
			return r.get(s) + ", " + r.told(write(s, r.them6(), "back")) + ", " + r.get(peer)
		}},
		{name: "IPv6 ReadFrom", net: both, ways: fastRx, want: "*net.UDPAddr them with 16 bytes", run: func(r *rig) string {
			s, peer := r.listen(r.us6()), r.peerAt(r.them6())
			r.send(peer, r.us6(), "hello")
			_, src, err := s.ReadFrom(r.buf)
			return r.addr(src) + failed(r, err)
		}},
		{name: "IPv6 sizes, whole and in fragments", net: both, ways: fast | kernelRx | kernelTx, want: "whole, whole", run: func(r *rig) string {
			s, peer := r.listen(r.us6()), r.peerAt(r.them6())
			r.warm(s, peer)
			sizes := []int{0, 1, 17, 1400, 1452, 1453, 3000, 65507, 65527}
			return r.sizes(s, peer, sizes) + ", " + r.sizes(peer, s, sizes)
		}},
		{name: "IPv6 oversize", net: both, want: "write udp us>them EMSGSIZE", run: func(r *rig) string {
			return r.result(r.listen(r.us6()).WriteToUDP(make([]byte, 65528), net.UDPAddrFromAddrPort(r.them6())))
		}},
		{name: "zone of a link-local sender", net: both, ways: fastRx, want: "fe80%interface:them+0, fe80%interface:them+0", run: func(r *rig) string {
			s, peer := r.listen(r.at(any6)), r.peerAt(netip.AddrPortFrom(any6, r.peerPort))
			to := netip.AddrPortFrom(r.linkLocal(r.pair.B), r.port)
			r.sendIn(r.pair.A, peer, to.Addr().WithZone(r.pair.A.Name), "one")
			r.sendIn(r.pair.A, peer, to.Addr().WithZone(r.pair.A.Name), "two")
			var names [2]string
			err := r.pair.B.NS.Do(func() error {
				_, src, err := s.ReadFromUDPAddrPort(r.buf)
				names[0] = r.who(src)
				if err == nil {
					var from net.Addr
					_, from, err = s.ReadFrom(r.buf)
					names[1] = r.who(from.(*net.UDPAddr).AddrPort())
				}
				return err
			})
			return names[0] + ", " + names[1] + failed(r, err)
		}},
		{name: "to a link-local address by name", net: both, ways: fastTx, want: `ok ok, "one" "two" from fe80`, run: func(r *rig) string {
			return r.toLinkLocal(func(zone string) string { return zone })
		}},
		{name: "to a link-local address by number", net: both, ways: fastTx, want: `ok ok, "one" "two" from fe80`, run: func(r *rig) string {
			return r.toLinkLocal(func(string) string { return fmt.Sprint(r.pair.B.Index) })
		}},
		{name: "to a link-local address without a zone", net: both, want: "ok", run: func(r *rig) string {
			s := r.listen(r.at(any6))
			to := netip.AddrPortFrom(r.linkLocal(r.pair.A), r.peerPort)
			return r.told(write(s, to, "hello"))
		}},
		{name: "to a zone that is none", net: both, want: "ok",
			ours: "write udp :::us>fe80%nosuch:them+0 ENODEV",
			why:  "package net takes a zone that it does not know for none, and the kernel chooses an interface; better an error than the wrong one",
			run: func(r *rig) string {
				s := r.listen(r.at(any6))
				to := netip.AddrPortFrom(r.linkLocal(r.pair.A).WithZone("nosuch"), r.peerPort)
				return r.told(write(s, to, "hello"))
			}},
		{name: "both families on one socket", net: both, ways: fast, want: `"four" "six", "re four" from us, "re six" from us`, run: bothFamilies},
		{name: "IPv4 sender on a socket for both", net: both, ways: fastRx, want: "::ffff:10.9.0.1 mapped true, *net.UDPAddr them with 16 bytes",
			ours:       "10.9.0.1 mapped false, *net.UDPAddr them with 4 bytes",
			everywhere: true,
			why:        "an IPv4 address is IPv4, whoever looks at it: no program has to unmap it before it compares",
			run: func(r *rig) string {
				s, peer := r.listen(r.at(netip.Addr{})), r.peer()
				r.send(peer, r.us(), "one")
				r.send(peer, r.us(), "two")
				_, src, err := s.ReadFromUDPAddrPort(r.buf)
				_, from, err2 := s.ReadFrom(r.buf)
				return fmt.Sprintf("%v mapped %t, %s", src.Addr(), src.Addr().Is4In6(), r.addr(from)) + failed(r, err) + failed(r, err2)
			}},
		{name: "mapped IPv4 destination", net: both, ways: fastTx, want: `ok ok, "one" from us "two" from us`, run: func(r *rig) string {
			four, both := r.listen(r.us()), r.peer()
			r.warm(four, both)
			to := netip.AddrPortFrom(netip.AddrFrom16(r.pair.A.IP4.As16()), r.peerPort)
			one := r.told(write(four, to, "one"))
			_, err := four.WriteTo([]byte("two"), &net.UDPAddr{IP: net.IP(to.Addr().AsSlice()), Port: int(to.Port())})
			return fmt.Sprintf("%s %s, %s %s", one, r.told(err), r.get(both), r.get(both))
		}},
		{name: "IPv6 destination from IPv4", net: both, want: "write udp us>them address: non-IPv4 address", run: func(r *rig) string {
			return r.told(write(r.listen(r.us()), r.them6(), "hello"))
		}},
		{name: "IPv4 destination from IPv6", net: both, want: "write udp us>them ENETUNREACH", run: func(r *rig) string {
			return r.told(write(r.listen(r.us6()), r.them(), "hello"))
		}},
		{name: "unspecified IPv4 destination from both", net: both, ways: kernelTx, want: `5, "hello" from ::1:us`, run: func(r *rig) string {
			s, other := r.listen(r.at(any6)), r.neighbour(any6)
			return r.result(s.WriteToUDP([]byte("hello"), &net.UDPAddr{IP: net.IPv4zero, Port: int(r.peerPort)})) + ", " + r.get(other)
		}},
		{name: "own IPv6 address", net: both, ways: kernelRx | kernelTx, want: `ok, "to myself" from us`, run: func(r *rig) string {
			s := r.listen(r.us6())
			return r.told(write(s, r.us6(), "to myself")) + ", " + r.get(s)
		}},
		{name: "bound to a link-local address", net: both, ways: fast, want: `"hello", ok, "back" from fe80`, run: func(r *rig) string {
			local := r.linkLocal(r.pair.B)
			s, peer := r.listen(r.at(local.WithZone(r.pair.B.Name))), r.peerAt(netip.AddrPortFrom(any6, r.peerPort))
			for range 2 { // the first one back may not know its neighbour yet
				r.sendIn(r.pair.A, peer, local.WithZone(r.pair.A.Name), "hello")
				n, _, err := s.ReadFromUDPAddrPort(r.buf)
				if err != nil || string(r.buf[:n]) != "hello" {
					return r.told(err)
				}
				r.direct(s, netip.AddrPortFrom(r.linkLocal(r.pair.A).WithZone(r.pair.B.Name), r.peerPort))
				if got := r.toLinkLocalBy(s, peer, r.pair.B.Name, "back"); got != `ok, "back" from fe80` {
					return got
				}
			}
			return `"hello", ok, "back" from fe80`
		}},
	}
}

func bothFamilies(r *rig) string {
	s := r.listen(r.at(netip.Addr{}))
	four, six := r.peer(), r.peerAt(r.them6())
	var got [2]string
	for i, p := range []*net.UDPConn{four, six} {
		to, text := r.us(), "four"
		if i == 1 {
			to, text = r.us6(), "six"
		}
		for range 2 { // the first answer may not know its neighbour yet
			r.send(p, to, text)
			n, src, err := s.ReadFromUDPAddrPort(r.buf)
			if err != nil || string(r.buf[:n]) != text {
				return r.datagram(r.buf[:n], src, err)
			}
			r.direct(s, unmapped(src))
			if _, err := s.WriteToUDPAddrPort([]byte("re "+text), src); err != nil {
				return r.told(err)
			}
			got[i] = r.get(p)
		}
	}
	return fmt.Sprintf("%q %q, %s, %s", "four", "six", got[0], got[1])
}
