// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Case 86: a destination behind a gateway goes to the gateway's MAC, and each change
// of the way is followed.
func TestGateway(t *testing.T) {
	c := newChain(t)
	for _, tc := range []struct {
		family
		net  string
		c    netip.Addr
		host string
	}{
		{families(c.A, c.BA)[0], "10.9.1.0/24", c.C.IP4, c.C.IP4.String() + "/32"},
		{families(c.A, c.BA)[1], "fd09:0:0:1::/64", c.C.IP6, c.C.IP6.String() + "/128"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gateway, mac := via(t, &c.A, tc.gateway, 3)
			gateway2, mac2 := via(t, &c.A, tc.gateway2, 4)
			table := openEnd(t, &c.A)
			f := newFlow(t, table, tc.c)
			if hop := (Hop{c.A.Index, tc.b}); f.a.NextHop != hop {
				t.Fatalf("next hop %v, want %v", f.a.NextHop, hop)
			}
			f.resolved()
			if f.a.MAC != macOf(c.BA) || f.a.Src != tc.a {
				t.Errorf("got %+v, want the gateway's MAC %v", f.a, c.BA.MAC)
			}
			specific := netlink.Route{LinkIndex: c.A.Index, Dst: ipNet(tc.host), Gw: gateway.AsSlice()}
			addRoute(t, &c.A, specific)
			f.wait("more specific route", goesTo(mac))
			specific.Gw = gateway2.AsSlice()
			addRoute(t, &c.A, specific)
			f.wait("other gateway", goesTo(mac2))
			delRoute(t, &c.A, specific)
			f.wait("more specific route deleted", goesTo(macOf(c.BA)))
			delRoute(t, &c.A, netlink.Route{Dst: ipNet(tc.net)})
			f.wait("route deleted", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })
			addRoute(t, &c.A, netlink.Route{LinkIndex: c.A.Index, Gw: tc.b.AsSlice()})
			f.wait("default route", goesTo(macOf(c.BA)))
			if f.a.Src != tc.a {
				t.Errorf("got source %v, want %v", f.a.Src, tc.a)
			}
		})
	}
}

// An IPv4 route may have an IPv6 gateway (RFC 5549).
func TestGatewayOfOtherFamily(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	gateway, mac := via(t, &p.A, "fe80::3", 3)
	addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet("192.0.2.0/24"),
		Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: gateway.AsSlice()}})
	f := newFlow(t, openEnd(t, &p.A), netip.MustParseAddr("192.0.2.9"))
	if !goesTo(mac)(f.a, f.err) || f.a.NextHop.Addr != gateway {
		t.Errorf("got %+v, %v, want %v by %v", f.a, f.err, mac, gateway)
	}
}

// The kernel announces that a route is deleted while it still answers with it. A flow
// that is looked at without pause must not be left with the old way.
func TestManyRouteChanges(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		gateway, mac := via(t, &p.A, fam.gateway, 3)
		gateway2, mac2 := via(t, &p.A, fam.gateway2, 4)
		addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet(fam.net), Gw: gateway.AsSlice()})
		specific := netlink.Route{LinkIndex: p.A.Index, Dst: ipNet(fam.host), Gw: gateway2.AsSlice()}
		table := openEnd(t, &p.A)
		stop := make(chan struct{})
		var senders sync.WaitGroup
		defer senders.Wait()
		defer close(stop)
		senders.Go(func() {
			for f := newFlow(t, table, fam.far); ; {
				select {
				case <-stop:
					return
				case <-table.Changed(f.a.Gen):
					_, _ = f.look()
				}
			}
		})
		f := newFlow(t, table, fam.far)
		for range 20 {
			addRoute(t, &p.A, specific)
			f.wait("added", goesTo(mac2))
			delRoute(t, &p.A, specific)
			f.wait("deleted", goesTo(mac))
		}
	})
}

// Case 100: addresses, the interface's own MAC and its name change under a flow.
func TestAddressChange(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		f.resolved()
		must(t, p.A.DelAddr(netip.PrefixFrom(fam.a, fam.bits)))
		must(t, p.A.AddAddr(fam.fresh))
		f.wait("other address", func(a Answer, err error) bool { return err == nil && a.Src == fam.fresh.Addr() })
		must(t, p.A.AddAddr(netip.PrefixFrom(fam.far, fam.b.BitLen())))
		own := newFlow(t, table, fam.far)
		own.wait("new local address", is(Local))
		must(t, p.A.DelAddr(netip.PrefixFrom(fam.far, fam.b.BitLen())))
		own.wait("no local address", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })

		mac := packet.MAC{2, 0, 0, 0, 0, 9}
		must(t, p.A.SetMAC(mac[:]))
		f.wait("own MAC", func(a Answer, err error) bool { return err == nil && a.SrcMAC == mac })
		must(t, p.A.Rename("other"))
		f.resolved()
		if f.a.NextHop.Ifindex != p.A.Index || f.a.SrcMAC != mac {
			t.Errorf("after a rename: got %+v", f.a)
		}
	})
}

// Case 82 in what concerns this package: the MTU is the least of interface and route.
func TestMTU(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		gateway, _ := via(t, &p.A, fam.gateway, 3)
		table := openEnd(t, &p.A)
		mtu := func(n int) func(Answer, error) bool {
			return func(a Answer, err error) bool { return err == nil && a.MTU == n }
		}
		f := newFlow(t, table, fam.b)
		for _, n := range []int{1280, 1500, 1400, 9000, 1500} {
			must(t, p.A.SetMTU(n))
			f.wait("interface", mtu(n))
		}
		r := netlink.Route{LinkIndex: p.A.Index, Dst: ipNet(fam.net), Gw: gateway.AsSlice(), MTU: 1300, Hoplimit: 7}
		addRoute(t, &p.A, r)
		far := newFlow(t, table, fam.far)
		far.wait("route", func(a Answer, err error) bool { return err == nil && a.MTU == 1300 && a.HopLimit == 7 })
		r.MTU, r.Hoplimit = 2000, 0
		addRoute(t, &p.A, r)
		far.wait("route above interface", func(a Answer, err error) bool { return err == nil && a.MTU == 1500 && a.HopLimit == 0 })
	})
}

// IPv6 may have a smaller MTU of its own on an interface, as routers can tell.
func TestMTUOfIPv6(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	table := prepareEnd(t, &p.A)
	table.timing.refresh = changeWait / 20 // a sysctl is not announced
	table.launch()
	f, f4 := newFlow(t, table, p.B.IP6), newFlow(t, table, p.B.IP4)
	for _, value := range []string{"1300", "1400"} {
		sysctl(t, &p.A, "ipv6/conf/"+p.A.Name+"/mtu", value)
		f.wait("MTU of IPv6", func(a Answer, err error) bool {
			return err == nil && (value == "1300") == (a.MTU == 1300) && a.MTU <= 1400
		})
	}
	if f4.look(); f4.a.MTU != 1500 {
		t.Errorf("IPv4: got %d, want 1500", f4.a.MTU)
	}
}

// What a kernel socket learns of the path is seen: at once by a caller that says so,
// by others at the next refresh.
func TestPathMTU(t *testing.T) {
	c := newChain(t)
	must(t, c.BC.SetMTU(1300))
	must(t, c.C.SetMTU(1300))
	invalidated, refreshed := openEnd(t, &c.A), prepareEnd(t, &c.A)
	refreshed.timing.refresh = changeWait / 20
	refreshed.launch()
	for _, dst := range []netip.Addr{c.C.IP4, c.C.IP6} {
		one, other := newFlow(t, invalidated, dst), newFlow(t, refreshed, dst)
		if one.a.MTU != 1500 || other.a.MTU != 1500 {
			t.Fatalf("%v: got MTU %d and %d, want 1500", dst, one.a.MTU, other.a.MTU)
		}
		learnPathMTU(t, &c.A, dst)
		known := func(a Answer, err error) bool { return err == nil && a.MTU == 1300 }
		other.wait("refresh", known)
		invalidated.Invalidate()
		if a, err := one.look(); !known(a, err) {
			t.Errorf("%v: got %+v, %v after Invalidate", dst, a, err)
		}
	}
}

// learnPathMTU sends what does not fit, until the kernel refuses to.
func learnPathMTU(t *testing.T, e *testnet.End, dst netip.Addr) {
	t.Helper()
	var conn *net.UDPConn
	in(t, e, func() (err error) {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(dst, 9)))
		return err
	})
	defer func() { _ = conn.Close() }()
	raw, err := conn.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) {
		level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
		if dst.Is6() {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
		}
		err = unix.SetsockoptInt(int(fd), level, option, unix.IP_PMTUDISC_DO)
	}))
	must(t, err)
	waitUntil(t, "EMSGSIZE", func() bool {
		_, err := conn.Write(make([]byte, 1400))
		return errors.Is(err, unix.EMSGSIZE)
	})
}

// What goes down takes its routes along, of which the kernel says nothing.
func TestDown(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		f.resolved()
		must(t, p.A.SetUp(false))
		f.wait("down", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })
		must(t, p.A.SetUp(true))
		if fam.b.Is6() {
			must(t, p.A.AddAddr(netip.PrefixFrom(fam.a, fam.bits)))
		}
		f.waitFor(10*changeWait, "up", func(a Answer, err error) bool { return err == nil })
		must(t, p.A.WaitUp())
		f.resolved()
	})
}

// A route over another interface ends with it, and the one over ours takes its place.
func TestOtherInterfaceDown(t *testing.T) {
	c := newChain(t)
	far := netip.MustParseAddr("192.0.2.9")
	table := openEnd(t, &c.BA)
	addRoute(t, &c.BA, netlink.Route{LinkIndex: c.BC.Index, Dst: ipNet("192.0.2.0/24"), Gw: c.C.IP4.AsSlice(), Priority: 1})
	addRoute(t, &c.BA, netlink.Route{LinkIndex: c.BA.Index, Dst: ipNet("192.0.2.0/24"), Gw: c.A.IP4.AsSlice(), Priority: 2})
	f := newFlow(t, table, far)
	f.wait("over the other interface", is(OtherInterface))
	must(t, c.BC.SetUp(false))
	f.wait("over ours", func(a Answer, err error) bool { return err == nil && a.NextHop == Hop{c.BA.Index, c.A.IP4} })
}

// Case 99: an interface that is deleted is gone, also for what needs no route.
func TestGone(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	table := openEnd(t, &p.A)
	unicast, group := newFlow(t, table, p.B.IP4), newFlow(t, table, netip.MustParseAddr("239.1.1.1"))
	must(t, p.A.Delete())
	unicast.wait("gone", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })
	group.wait("gone", func(a Answer, err error) bool { return errors.Is(err, unix.ENODEV) })
	in(t, &p.A, func() error {
		if _, err := Open(Config{Ifindex: p.A.Index}); !errors.Is(err, unix.ENODEV) {
			t.Errorf("open: got %v, want ENODEV", err)
		}
		return nil
	})
}

// A route may name a next hop object, which changes by itself.
func TestNextHopObject(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		// Else each change of the object is told as one of its routes too.
		sysctl(t, &p.A, "ipv4/nexthop_compat_mode", "0")
		gateway, mac := via(t, &p.A, fam.gateway, 3)
		gateway2, mac2 := via(t, &p.A, fam.gateway2, 4)
		nextHop := func(g netip.Addr) {
			in(t, &p.A, func() error { return setNextHop(5, p.A.Index, g) })
		}
		nextHop(gateway)
		in(t, &p.A, func() error { return addRouteBy(5, fam.far) })
		f := newFlow(t, openEnd(t, &p.A), fam.far)
		f.wait("next hop", goesTo(mac))
		nextHop(gateway2)
		f.wait("other next hop", goesTo(mac2))
	})
}

// setNextHop makes or changes a next hop object.
func setNextHop(id uint32, index int, gateway netip.Addr) error {
	req := nl.NewNetlinkRequest(unix.RTM_NEWNEXTHOP, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	req.AddRawData([]byte{byte(familyOf(gateway)), 0, 0, 0, 0, 0, 0, 0}) // struct nhmsg
	for _, a := range []*nl.RtAttr{
		nl.NewRtAttr(unix.NHA_ID, nl.Uint32Attr(id)),
		nl.NewRtAttr(unix.NHA_OIF, nl.Uint32Attr(uint32(index))),
		nl.NewRtAttr(unix.NHA_GATEWAY, gateway.AsSlice()),
	} {
		req.AddRawData(a.Serialize())
	}
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// rtaNextHopID is RTA_NH_ID.
const rtaNextHopID = 30

// addRouteBy adds a route to one address by a next hop object.
func addRouteBy(id uint32, dst netip.Addr) error {
	req := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_ACK)
	msg := nl.NewRtMsg()
	msg.Family, msg.Dst_len = uint8(familyOf(dst)), uint8(dst.BitLen())
	req.AddData(msg)
	req.AddData(nl.NewRtAttr(unix.RTA_DST, dst.AsSlice()))
	req.AddData(nl.NewRtAttr(rtaNextHopID, nl.Uint32Attr(id)))
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
