// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/xdpath/xdpath/internal/testnet"
)

// connectedRows: one peer, and what is heard of him.
func connectedRows() []row {
	const refused = "read udp us>them ECONNREFUSED"
	return []row{
		{name: "connected there and back", ways: fast, want: `5, "hello" from us, 4 "back", "again" from them`, run: func(r *rig) string {
			s, peer := r.connected()
			r.warm(s, peer)
			sent := r.result(s.Write([]byte("hello")))
			got := r.get(peer)
			r.send(peer, r.us(), "back")
			n, err := s.Read(r.buf)
			r.send(peer, r.us(), "again")
			return fmt.Sprintf("%s, %s, %d %q, %s", sent, got, n, r.buf[:n], r.get(s)) + failed(r, err)
		}},
		{name: "connected, to an address", want: "4: write udp us>A:them+1 connected", run: func(r *rig) string {
			s, _ := r.connected()
			var errs [4]error
			_, errs[0] = s.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(r.peerOn(1)))
			_, errs[1] = s.WriteToUDP([]byte("x"), net.UDPAddrFromAddrPort(r.peerOn(1)))
			_, errs[2] = s.WriteToUDPAddrPort([]byte("x"), r.peerOn(1))
			_, _, errs[3] = s.WriteMsgUDPAddrPort([]byte("x"), nil, r.peerOn(1))
			return r.alike(errs[:])
		}},
		{name: "connected, to no address", want: "write udp us>- connected, write udp us>invalid AddrPort connected", run: func(r *rig) string {
			s, _ := r.connected()
			_, one := s.WriteToUDP([]byte("x"), nil)
			_, two := s.WriteToUDPAddrPort([]byte("x"), netip.AddrPort{})
			return r.told(one) + ", " + r.told(two)
		}},
		{name: "connected, WriteMsg without an address", want: `5 5, "first" from us, "other" from us`, run: func(r *rig) string {
			s, peer := r.connected()
			n, _, err := s.WriteMsgUDP([]byte("first"), nil, nil)
			m, _, err2 := s.WriteMsgUDPAddrPort([]byte("other"), nil, netip.AddrPort{})
			return fmt.Sprintf("%d %d, %s, %s", n, m, r.get(peer), r.get(peer)) + failed(r, err) + failed(r, err2)
		}},
		{name: "connected, oversize", want: "write udp us>them EMSGSIZE, write udp us>- EMSGSIZE", run: func(r *rig) string {
			s, _ := r.connected()
			_, one := s.Write(make([]byte, 65508))
			_, _, two := s.WriteMsgUDP(make([]byte, 65508), nil, nil)
			return r.told(one) + ", " + r.told(two)
		}},
		{name: "connected, deadline", want: "read udp us>them deadline timeout", run: func(r *rig) string {
			s, _ := r.connected()
			s.SetReadDeadline(longAgo)
			return r.result(s.Read(r.buf))
		}},
		{name: "strangers are not heard", ways: fastRx | kernelRx, want: `"friend" from them, 3000 bytes from them`, run: func(r *rig) string {
			s, peer := r.connected()
			stranger := r.peerAt(r.peerOn(1))
			r.send(stranger, r.us(), "stranger")
			r.send(stranger, r.us(), string(make([]byte, 2999)))
			r.send(peer, r.us(), "friend")
			got := r.get(s)
			r.send(peer, r.us(), string(make([]byte, 3000)))
			return got + ", " + r.get(s)
		}},
		{name: "another host is not heard", alone: true, ways: fastRx, want: `"friend" from them`, run: func(r *rig) string {
			other := netip.MustParseAddr("10.9.0.33")
			if err := r.pair.A.AddAddr(netip.PrefixFrom(other, 24)); err != nil {
				return err.Error()
			}
			s, peer := r.connected()
			r.send(r.peerAt(netip.AddrPortFrom(other, r.peerPort)), r.us(), "stranger")
			r.send(peer, r.us(), "friend")
			return r.get(s)
		}},
		{name: "what a stranger is told", alone: true, want: "ECONNREFUSED",
			ours: "deadline",
			why:  "the fast lane drops what is not from the peer, and answers nobody",
			run: func(r *rig) string {
				r.connected()
				stranger, err := openKernel(r.pair.A.NS, r.peerOn(1), r.us())
				if err != nil {
					return err.Error()
				}
				defer stranger.Close()
				stranger.Write([]byte("anybody?"))
				stranger.SetReadDeadline(time.Now().Add(distance))
				_, err = stranger.Read(r.buf)
				return cause(err.(*net.OpError).Err)
			}},
		{name: "refused, told to a read", alone: true, want: refused, run: func(r *rig) string {
			s := r.dial(r.us(), r.them())
			if err := write(s, r.them(), "anybody?"); err != nil {
				return r.told(err)
			}
			return r.get(s)
		}},
		{name: "refused, told to a blocked read", alone: true, want: refused, run: func(r *rig) string {
			s := r.dial(r.us(), r.them())
			return r.blocked(s, func() { write(s, r.them(), "anybody?") })
		}},
		{name: "refused, told to a write", alone: true, want: "write udp us>them ECONNREFUSED", run: func(r *rig) string {
			return r.told(r.failing(r.dial(r.us(), r.them()), r.them()))
		}},
		{name: "refused on the fast lane, told to a write", alone: true, ways: fastTx, want: "write udp us>them ECONNREFUSED", run: func(r *rig) string {
			s, peer := r.connected()
			r.warm(s, peer)
			peer.Close()
			return r.told(r.failing(s, r.them()))
		}},
		{name: "refused, and then answered", alone: true, want: refused + `, "hello" from us, "back" from them`, run: func(r *rig) string {
			s := r.dial(r.us(), r.them())
			write(s, r.them(), "anybody?")
			first := r.get(s)
			peer := r.peer()
			if err := write(s, r.them(), "hello"); err != nil {
				return r.told(err)
			}
			got := r.get(peer)
			r.send(peer, r.us(), "back")
			return first + ", " + got + ", " + r.get(s)
		}},
		{name: "refused over IPv6", alone: true, net: testnet.Config{IPv6: true}, want: refused, run: func(r *rig) string {
			s := r.dial(r.us6(), r.them6())
			write(s, r.them6(), "anybody?")
			return r.get(s)
		}},
		{name: "refused, not told without a peer", alone: true, want: `"data" from them`, run: func(r *rig) string {
			s, peer := r.both()
			if err := write(s, r.peerOn(1), "anybody?"); err != nil {
				return r.told(err)
			}
			r.warm(s, peer)
			write(s, r.peerOn(1), "anybody?")
			r.send(peer, r.us(), "data")
			return r.get(s)
		}},
	}
}

// openRows: what opening refuses, and what there is to set.
func openRows() []row {
	return []row{
		{name: "port in use by the same kind", want: "EADDRINUSE", run: func(r *rig) string {
			r.listen(r.us())
			return r.refusal(r.us(), netip.AddrPort{})
		}},
		{name: "port in use by the kernel's", want: "EADDRINUSE", run: func(r *rig) string {
			kernelIn(r, r.pair.B.NS, r.us())
			return r.refusal(r.us(), netip.AddrPort{})
		}},
		{name: "port in use on another address", want: "EADDRINUSE", run: func(r *rig) string {
			kernelIn(r, r.pair.B.NS, r.at(any4))
			return r.refusal(r.us(), netip.AddrPort{})
		}},
		{name: "the kernel's finds the port in use", want: "EADDRINUSE", run: func(r *rig) string {
			r.listen(r.us())
			c, err := openKernel(r.pair.B.NS, r.us(), netip.AddrPort{})
			if err == nil {
				c.Close()
				return "ok"
			}
			return cause(err)
		}},
		{name: "nobody's address", want: "EADDRNOTAVAIL", run: func(r *rig) string {
			return r.refusal(r.at(netip.MustParseAddr("10.9.0.99")), netip.AddrPort{})
		}},
		{name: "connected beyond all routes", want: "ENETUNREACH", run: func(r *rig) string {
			return r.refusal(netip.AddrPort{}, netip.MustParseAddrPort("192.0.2.1:9"))
		}},
		{name: "connected to broadcast", want: "ok",
			ours:       "EACCES",
			everywhere: true,
			why:        "the kernel's own rule: package net lifts it for every socket, Config.Broadcast for one",
			run: func(r *rig) string {
				return r.refusal(netip.AddrPort{}, netip.MustParseAddrPort("10.9.0.255:9"))
			}},
		{name: "another port of the interface", want: "ok",
			ours: "EBUSY",
			why:  "an interface has one XDP program and a queue one AF_XDP socket: a second Conn needs other queues' interface, or FallbackAllow",
			run: func(r *rig) string {
				r.listen(r.us())
				return r.refusal(netip.AddrPortFrom(r.pair.B.IP4, 0), netip.AddrPort{})
			}},
		{name: "buffers", want: "4: ok", run: func(r *rig) string {
			s := r.listen(r.us())
			return r.alike([]error{s.SetReadBuffer(1 << 16), s.SetWriteBuffer(1 << 16), s.SetReadBuffer(0), s.SetWriteBuffer(1 << 30)})
		}},
		{name: "buffers of less than nothing", want: "2: ok",
			ours:       "2: set udp ->us EINVAL",
			everywhere: true,
			why:        "the kernel takes -1 for four billion",
			run: func(r *rig) string {
				s := r.listen(r.us())
				return r.alike([]error{s.SetReadBuffer(-1), s.SetWriteBuffer(-1)})
			}},
	}
}

// refusal says why a socket cannot be opened.
func (r *rig) refusal(local, remote netip.AddrPort) string {
	r.Helper()
	s, err := r.open(local, remote)
	if err == nil {
		s.Close()
		return "ok"
	}
	return cause(err)
}

var (
	group  = netip.MustParseAddr("239.1.2.3")
	second = netip.MustParseAddr("239.1.2.4")
	group6 = netip.MustParseAddr("ff15::1234")
)

// groupRows: multicast.
func groupRows() []row {
	both := testnet.Config{IPv6: true}
	return []row{
		{name: "group that was not joined", want: `"to us" from them`, run: func(r *rig) string {
			s, peer := r.listen(r.at(any4)), r.peer()
			r.multicast(peer, group, "to the group")
			r.send(peer, r.us(), "to us")
			return r.get(s)
		}},
		{name: "group joined", ways: fastRx, want: `ok, "to the group" from them, "to us" from them`, run: func(r *rig) string {
			s, peer := r.listen(r.at(any4)), r.peer()
			err := r.join(s, group)
			r.multicast(peer, second, "to another group")
			r.multicast(peer, group, "to the group")
			r.send(peer, r.us(), "to us")
			return cause0(err) + ", " + r.get(s) + ", " + r.get(s)
		}},
		{name: "group left", want: `ok, "to us" from them, "to the second" from them`, run: func(r *rig) string {
			s, peer := r.listen(r.at(any4)), r.peer()
			r.join(s, group)
			r.join(s, second)
			err := r.leave(s, group)
			r.multicast(peer, group, "to the group")
			r.send(peer, r.us(), "to us")
			r.multicast(peer, second, "to the second")
			return cause0(err) + ", " + r.get(s) + ", " + r.get(s)
		}},
		{name: "group joined twice", want: "ok, EADDRINUSE", run: func(r *rig) string {
			s := r.listen(r.at(any4))
			return cause0(r.join(s, group)) + ", " + cause0(r.join(s, group))
		}},
		{name: "group left without a join", want: "EADDRNOTAVAIL", run: func(r *rig) string {
			return cause0(r.leave(r.listen(r.at(any4)), group))
		}},
		{name: "group of IPv6", net: both, ways: fastRx, want: `ok, "to the group" from them`, run: func(r *rig) string {
			s, peer := r.listen(r.at(any6)), r.peerAt(r.them6())
			err := r.join(s, group6)
			r.multicast(peer, group6, "to the group")
			return cause0(err) + ", " + r.get(s)
		}},
		{name: "group joined on one address", want: `ok, "to us" from them`,
			ours: `ok, "to the group" from them`,
			why:  "who joins a group wants its datagrams; a kernel socket that is bound to an address joins, and hears none",
			run: func(r *rig) string {
				s, peer := r.both()
				err := r.join(s, group)
				r.multicast(peer, group, "to the group")
				r.send(peer, r.us(), "to us")
				return cause0(err) + ", " + r.get(s)
			}},
		{name: "sent to a group", ways: fastTx, want: `ok, "to the group" from us`, run: func(r *rig) string {
			s, peer := r.listen(r.us()), r.peerAt(netip.AddrPortFrom(any4, r.peerPort))
			if err := joinKernel(r.pair.A, peer, group); err != nil {
				return err.Error()
			}
			return r.told(write(s, netip.AddrPortFrom(group, r.peerPort), "to the group")) + ", " + r.get(peer)
		}},
		{name: "sent to a group that no route leads to", want: "write udp :::us>239.1.2.3:us ENETUNREACH",
			ours:       "ok",
			everywhere: true,
			why:        "a Conn has an interface, which a group needs and a net.UDPConn on any address has not",
			run: func(r *rig) string {
				return r.told(write(r.listen(r.at(netip.Addr{})), r.at(group), "to the group"))
			}},
		{name: "own datagram to a group", want: `ok, "to all" from us`,
			ours: `ok, "to us" from them`,
			why:  "the fast lane hands frames to the link and not to this host: its own programs do not hear them",
			run: func(r *rig) string {
				s, peer := r.listen(r.at(any4)), r.peer()
				r.join(s, group)
				if k, ok := s.(*net.UDPConn); ok {
					ipv4.NewPacketConn(k).SetMulticastInterface(&net.Interface{Index: r.pair.B.Index})
				}
				err := write(s, r.at(group), "to all")
				r.send(peer, r.us(), "to us")
				return r.told(err) + ", " + r.get(s)
			}},
	}
}

// cause0 is cause for what may be no error.
func cause0(err error) string {
	if err == nil {
		return "ok"
	}
	return cause(err)
}

// join and leave are Conn's, or those of package ipv4 on a net.UDPConn.
func (r *rig) join(s socket, group netip.Addr) error {
	if p, ok := s.(*PacketConn); ok {
		return p.c.JoinGroup(group)
	}
	return joinKernel(r.pair.B, s.(*net.UDPConn), group)
}

func (r *rig) leave(s socket, group netip.Addr) error {
	if p, ok := s.(*PacketConn); ok {
		return p.c.LeaveGroup(group)
	}
	link, addr := &net.Interface{Index: r.pair.B.Index}, &net.UDPAddr{IP: group.AsSlice()}
	return ipv4.NewPacketConn(s).LeaveGroup(link, addr)
}

func joinKernel(end testnet.End, c *net.UDPConn, group netip.Addr) error {
	link, addr := &net.Interface{Index: end.Index}, &net.UDPAddr{IP: group.AsSlice()}
	if group.Is6() {
		return ipv6.NewPacketConn(c).JoinGroup(link, addr)
	}
	return ipv4.NewPacketConn(c).JoinGroup(link, addr)
}

// multicast sends by a peer to a group, out of its interface.
func (r *rig) multicast(from *net.UDPConn, group netip.Addr, text string) {
	r.Helper()
	link := &net.Interface{Index: r.pair.A.Index}
	err := ipv4.NewPacketConn(from).SetMulticastInterface(link)
	if group.Is6() {
		err = ipv6.NewPacketConn(from).SetMulticastInterface(link)
	}
	if err != nil {
		r.Fatal(err)
	}
	r.send(from, r.at(group), text)
}
