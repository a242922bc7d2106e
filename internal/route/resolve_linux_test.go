// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

func diff(want, got Answer) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
}

// Case 84, the first half: an unknown neighbour is told as such, and found out by
// the kernel on request.
func TestNeighbourOnLink(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		want := Answer{
			Kind: Unresolved, NextHop: Hop{p.A.Index, fam.b}, SrcMAC: macOf(p.A), Src: fam.a, MTU: 1500, Gen: f.a.Gen,
		}
		if d := diff(want, f.a); f.err != nil || d != "" {
			t.Fatalf("%v\n%s", f.err, d)
		}
		must(t, table.Solicit(f.a.NextHop))
		f.wait("resolve", is(Unicast))
		want.Kind, want.MAC, want.Gen = Unicast, macOf(p.B), f.a.Gen
		if d := diff(want, f.a); d != "" {
			t.Error(d)
		}
	})
}

func TestLinkLocal(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	table := openEnd(t, &p.A)
	a, b := linkLocal(t, &p.A), linkLocal(t, &p.B)
	newFlow(t, table, b).resolved()
	for _, zone := range []string{"", p.A.Name, strconv.Itoa(p.A.Index)} {
		got, err := table.Resolve(Query{Dst: b.WithZone(zone)})
		want := Answer{
			Kind: Unicast, NextHop: Hop{p.A.Index, b}, MAC: macOf(p.B), SrcMAC: macOf(p.A), Src: a, MTU: 1500, Gen: got.Gen,
		}
		if d := diff(want, got); err != nil || d != "" {
			t.Errorf("zone %q: %v\n%s", zone, err, d)
		}
	}
	if a, err := table.Resolve(Query{Dst: p.B.IP6.WithZone("nothing")}); err != nil || a.NextHop.Addr != p.B.IP6 {
		t.Errorf("zone of an address that needs none: got %+v, %v", a, err)
	}
	if _, err := table.Resolve(Query{Dst: b.WithZone("nothing")}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("unknown zone: got %v, want ENODEV", err)
	}
	must(t, p.A.Rename("renamed"))
	f := newFlow(t, table, b.WithZone("renamed"))
	f.wait("new name as zone", goesTo(macOf(p.B)))
}

// Case 87, and broadcasts: no neighbour is asked for.
func TestGroups(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	table := openEnd(t, &p.A)
	broadcast := packet.BroadcastMAC()
	for _, tc := range []struct {
		dst  string
		kind Kind
		mac  packet.MAC
	}{
		{"224.0.0.251", Multicast, packet.MAC{0x01, 0, 0x5e, 0, 0, 0xfb}},
		{"239.129.2.3", Multicast, packet.MAC{0x01, 0, 0x5e, 1, 2, 3}},
		{"::ffff:239.129.2.3", Multicast, packet.MAC{0x01, 0, 0x5e, 1, 2, 3}},
		{"ff02::1", Multicast, packet.MAC{0x33, 0x33, 0, 0, 0, 1}},
		{"ff02::1:2%" + p.A.Name, Multicast, packet.MAC{0x33, 0x33, 0, 1, 0, 2}},
		{"ff0e::1234", Multicast, packet.MAC{0x33, 0x33, 0, 0, 0x12, 0x34}},
		{"ff01::1", Local, packet.MAC{}},
		{"255.255.255.255", Broadcast, broadcast},
		{"10.9.0.255", Broadcast, broadcast},
	} {
		dst := netip.MustParseAddr(tc.dst)
		a, err := table.Resolve(Query{Dst: dst})
		if err != nil || a.Kind != tc.kind || a.MAC != tc.mac {
			t.Errorf("%s: got %v to %v, %v, want %v to %v", tc.dst, a.Kind, a.MAC, err, tc.kind, tc.mac)
			continue
		}
		want := p.A.IP4
		if dst.Unmap().Is6() {
			want = linkLocal(t, &p.A)
		}
		if a.Src != want && a.Src != p.A.IP6 || a.Kind.Direct() && a.NextHop.Ifindex != p.A.Index {
			t.Errorf("%s: got source %v on interface %d, want %v on %d", tc.dst, a.Src, a.NextHop.Ifindex, want, p.A.Index)
		}
	}
}

// Case 24: what stays in the host is told, and so is what leaves elsewhere.
func TestNotOurs(t *testing.T) {
	c := newChain(t)
	table := openEnd(t, &c.BA)
	for _, tc := range []struct {
		dst  netip.Addr
		kind Kind
	}{
		{c.BA.IP4, Local}, {c.BA.IP6, Local}, {c.BC.IP4, Local}, {c.BC.IP6, Local},
		{netip.MustParseAddr("127.0.0.1"), Local}, {netip.IPv6Loopback(), Local},
		{netip.IPv4Unspecified(), Local}, {netip.IPv6Unspecified(), Local},
		{linkLocal(t, &c.BA), Local},
		{c.C.IP4, OtherInterface}, {c.C.IP6, OtherInterface},
		{netip.MustParseAddr("10.9.1.255"), OtherInterface},
		{linkLocal(t, &c.C).WithZone(c.BC.Name), OtherInterface},
		{netip.MustParseAddr("ff02::1").WithZone(c.BC.Name), OtherInterface},
		{c.A.IP4, Unresolved}, {c.A.IP6, Unresolved},
	} {
		a, err := table.Resolve(Query{Dst: tc.dst})
		if err != nil || a.Kind != tc.kind || a.MAC != (packet.MAC{}) {
			t.Errorf("%v: got %+v, %v, want %v without a MAC", tc.dst, a, err, tc.kind)
		}
	}
}

// Where a datagram cannot be sent, the error is that of a socket.
func TestNoRoute(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.far)
		if !errors.Is(f.err, unix.ENETUNREACH) || f.a.Gen == 0 || f.a.Gen != table.Generation() {
			t.Errorf("got %+v, %v, want ENETUNREACH", f.a, f.err)
		}
		for _, tc := range errnos {
			r := netlink.Route{Dst: ipNet(fam.net), Type: tc.typ}
			addRoute(t, &p.A, r)
			f.wait(tc.name, func(a Answer, err error) bool { return errors.Is(err, tc.want) })
			delRoute(t, &p.A, r)
		}
		f.wait("deleted", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })
	})
}

func TestBadQuery(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	table := openEnd(t, &p.A)
	for _, tc := range []struct {
		name string
		q    Query
		want error
	}{
		{"nothing", Query{}, unix.EINVAL},
		{"two families", Query{Dst: p.B.IP4, Src: p.A.IP6}, unix.EINVAL},
		{"foreign source", Query{Dst: p.B.IP4, Src: p.B.IP4}, unix.ENETUNREACH},
		{"zone of IPv4", Query{Dst: netip.MustParseAddr("::ffff:10.9.0.2").WithZone("x")}, nil},
	} {
		if _, err := table.Resolve(tc.q); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

// A source that the caller is bound to is kept, and an unspecified one is none.
func TestSource(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		must(t, p.A.AddAddr(fam.fresh))
		table := openEnd(t, &p.A)
		for _, tc := range []struct{ src, want netip.Addr }{
			{fam.fresh.Addr(), fam.fresh.Addr()},
			{fam.a, fam.a},
		} {
			if a, err := table.Resolve(Query{Dst: fam.b, Src: tc.src}); err != nil || a.Src != tc.want {
				t.Errorf("source %v: got %v, %v, want %v", tc.src, a.Src, err, tc.want)
			}
		}
		for _, none := range []netip.Addr{{}, netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
			if a, err := table.Resolve(Query{Dst: fam.b, Src: none}); err != nil || !a.Src.IsValid() || a.Src.IsUnspecified() {
				t.Errorf("source %v: got %v, %v", none, a.Src, err)
			}
		}
	})
}

// The kernel shares next hops out by ports where it is told to, and so do answers.
func TestPortsChooseTheHop(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		sysctl(t, &p.A, fam.sysctl+"/fib_multipath_hash_policy", "1")
		gateway, mac := via(t, &p.A, fam.gateway, 3)
		gateway2, mac2 := via(t, &p.A, fam.gateway2, 4)
		addRoute(t, &p.A, netlink.Route{Dst: ipNet(fam.net), MultiPath: []*netlink.NexthopInfo{
			{LinkIndex: p.A.Index, Gw: gateway.AsSlice()}, {LinkIndex: p.A.Index, Gw: gateway2.AsSlice()},
		}})
		table := openEnd(t, &p.A)
		seen := make(map[packet.MAC]int)
		for port := range uint16(64) {
			q := Query{Dst: fam.far, SrcPort: 1000 + port, DstPort: 53}
			a, err := table.Resolve(q)
			must(t, err)
			again, err := table.Resolve(q)
			must(t, err)
			if a.MAC != again.MAC {
				t.Errorf("port %d: got %v and %v", q.SrcPort, a.MAC, again.MAC)
			}
			seen[a.MAC]++
		}
		if len(seen) != 2 || seen[mac] == 0 || seen[mac2] == 0 {
			t.Errorf("got %v, want both of %v and %v", seen, mac, mac2)
		}
	})
}

// Rules are the kernel's: by source, by mark, by port.
func TestRules(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		gateway, mac := via(t, &p.A, fam.gateway, 3)
		gateway2, mac2 := via(t, &p.A, fam.gateway2, 4)
		addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet(fam.net), Gw: gateway.AsSlice()})
		addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet(fam.net), Gw: gateway2.AsSlice(), Table: 100})
		table := openEnd(t, &p.A)
		bits := fam.a.BitLen()
		for _, tc := range []struct {
			name string
			q    Query
			rule func(r *netlink.Rule)
		}{
			{"source", Query{Src: fam.a}, func(r *netlink.Rule) { r.Src = ipNet(fam.a.String() + "/" + strconv.Itoa(bits)) }},
			{"mark", Query{Mark: 7}, func(r *netlink.Rule) { r.Mark = 7 }},
			{"port", Query{DstPort: 53}, func(r *netlink.Rule) { r.Dport = netlink.NewRulePortRange(53, 53) }},
			{"protocol", Query{}, func(r *netlink.Rule) { r.IPProto = unix.IPPROTO_UDP }},
		} {
			f := newFlow(t, table, fam.far)
			f.q = tc.q
			f.q.Dst = fam.far
			f.wait(tc.name+", no rule", goesTo(mac))
			rule := netlink.NewRule()
			rule.Table, rule.Family, rule.Priority = 100, familyOf(fam.a), 50
			tc.rule(rule)
			in(t, &p.A, func() error { return netlink.RuleAdd(rule) })
			f.wait(tc.name+", rule added", goesTo(mac2))
			in(t, &p.A, func() error { return netlink.RuleDel(rule) })
			f.wait(tc.name+", rule deleted", goesTo(mac))
		}
		if s := table.Stats(); s.Rules < 8 {
			t.Errorf("got %+v, want 8 changes of rules", s)
		}
	})
}

// Routes that wrap the datagram in something are the kernel's.
func TestEncapsulation(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	gateway, mac := via(t, &p.A, "fd09::3", 3)
	r := netlink.Route{LinkIndex: p.A.Index, Dst: ipNet("2001:db8::/64"), Gw: gateway.AsSlice()}
	addRoute(t, &p.A, r)
	f := newFlow(t, openEnd(t, &p.A), netip.MustParseAddr("2001:db8::9"))
	if !goesTo(mac)(f.a, f.err) {
		t.Errorf("plain: got %+v, %v", f.a, f.err)
	}
	r.Encap = &netlink.SEG6Encap{Mode: nl.SEG6_IPTUN_MODE_ENCAP, Segments: []net.IP{ip("2001:db8:1::1")}}
	addRoute(t, &p.A, r)
	f.wait("encapsulated", is(KernelOnly))
}

func TestRouteError(t *testing.T) {
	for typ, want := range map[uint8]error{
		unix.RTN_UNICAST: nil, unix.RTN_LOCAL: nil, unix.RTN_BROADCAST: nil, unix.RTN_MULTICAST: nil, unix.RTN_ANYCAST: nil,
		unix.RTN_UNSPEC: unix.ENETUNREACH, unix.RTN_THROW: unix.ENETUNREACH, unix.RTN_UNREACHABLE: unix.EHOSTUNREACH,
		unix.RTN_PROHIBIT: unix.EACCES, unix.RTN_BLACKHOLE: unix.EINVAL,
	} {
		if got := routeError(typ); got != want {
			t.Errorf("type %d: got %v, want %v", typ, got, want)
		}
	}
}

func TestKindString(t *testing.T) {
	seen := make(map[string]bool)
	for k := range numKinds + 1 {
		if s := k.String(); s == "" || seen[s] {
			t.Errorf("kind %d is %q", k, s)
		} else {
			seen[s] = true
		}
	}
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}
