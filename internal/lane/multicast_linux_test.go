// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// group is a multicast group, and how both ends reach it.
type group struct {
	name  string
	local string // of the lane
	group netip.Addr
	peer  string
}

func groups() []group {
	v4, v6 := netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("ff15::1234")
	return []group{
		{"IPv4", "0.0.0.0:0", v4, "10.9.0.1:0"},
		{"IPv6", "[::]:0", v6, "[fd09::1]:0"},
		{"IPv4 on a socket for both", "[::]:0", v4, "10.9.0.1:0"},
		{"link-local scope", "[::]:0", netip.MustParseAddr("ff02::1234"), "[fd09::1]:0"},
		{"mapped group", "[::]:0", netip.MustParseAddr("::ffff:239.1.2.3"), "10.9.0.1:0"},
	}
}

// Datagrams to a group arrive between join and leave. Whether something did not
// arrive is told by a datagram sent after it.
func TestJoinAndLeave(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			l := openOn(t, pair.B, at(g.local))
			to := g.sender(t, pair, l)
			to.expect(t, l, "before joining", false)
			if err := l.JoinGroup(g.group, pair.B.Index); err != nil {
				t.Fatal(err)
			}
			if err := l.JoinGroup(g.group, pair.B.Index); !errors.Is(err, unix.EADDRINUSE) {
				t.Errorf("joined again: %v", err)
			}
			to.expect(t, l, "joined", true)
			if err := l.LeaveGroup(g.group, pair.B.Index); err != nil {
				t.Fatal(err)
			}
			if err := l.LeaveGroup(g.group, pair.B.Index); !errors.Is(err, unix.EADDRNOTAVAIL) {
				t.Errorf("left again: %v", err)
			}
			to.expect(t, l, "after leaving", false)
			if g.group.IsLinkLocalMulticast() && g.group.Is6() {
				if err := l.JoinGroup(g.group.WithZone(pair.B.Name), 0); err != nil {
					t.Fatal(err)
				}
				to.expect(t, l, "joined by zone", true)
			}
		})
	}
}

// groupSender sends to a group and to a lane from the other end.
type groupSender struct {
	send    func(to netip.Addr, text string)
	group   netip.Addr
	unicast netip.Addr
	ifindex int
}

func (g group) sender(t *testing.T, pair *testnet.Pair, l *Lane) groupSender {
	t.Helper()
	s := groupSender{group: g.group.Unmap(), unicast: pair.B.IP4, ifindex: pair.B.Index}
	network := "udp4"
	if s.group.Is6() {
		network, s.unicast = "udp6", pair.B.IP6
	}
	c := peerOn(t, pair.A, network, g.peer)
	s.send = func(to netip.Addr, text string) {
		if to.IsLinkLocalMulticast() && to.Is6() {
			to = to.WithZone(pair.A.Name)
		}
		writeTo(t, c, netip.AddrPortFrom(to, l.LocalAddr().Port()), []byte(text))
	}
	err := pair.A.NS.Do(func() error {
		link, err := interfaceByIndex(pair.A.Index)
		if err != nil {
			return err
		}
		if network == "udp4" {
			return ipv4.NewPacketConn(c).SetMulticastInterface(link)
		}
		return ipv6.NewPacketConn(c).SetMulticastInterface(link)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s groupSender) expect(t *testing.T, l *Lane, when string, arrives bool) {
	t.Helper()
	s.send(s.group, "group")
	s.send(s.unicast, "mark")
	want := 1
	if arrives {
		want = 2
	}
	msgs := collect(t, l, want)
	defer l.Release(msgs)
	if last := msgs[want-1]; string(last.Payload) != "mark" || last.Dst.Addr() != s.unicast {
		t.Fatalf("%s: %q to %v, want the mark", when, last.Payload, last.Dst)
	}
	if !arrives {
		return
	}
	m := msgs[0]
	if string(m.Payload) != "group" || m.Dst != netip.AddrPortFrom(s.group, l.LocalAddr().Port()) || m.Ifindex != s.ifindex || m.TTL != 1 {
		t.Errorf("%s: %q to %v on interface %d with TTL %d", when, m.Payload, m.Dst, m.Ifindex, m.TTL)
	}
}

// Our own datagrams to a group come back to us as long as that is wanted.
func TestMulticastLoop(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, g := range groups()[:3] {
		t.Run(g.name, func(t *testing.T) {
			l := openOn(t, pair.B, at(g.local))
			port := l.LocalAddr().Port()
			self := netip.AddrPortFrom(pair.B.IP4, port)
			if g.group.Is6() {
				self = netip.AddrPortFrom(pair.B.IP6, port)
			}
			if err := errors.Join(l.JoinGroup(g.group, pair.B.Index), l.SetMulticastInterface(pair.B.Index)); err != nil {
				t.Fatal(err)
			}
			for _, loop := range []bool{false, true} {
				if err := l.SetMulticastLoop(loop); err != nil {
					t.Fatal(err)
				}
				sendAll(t, l,
					Outgoing{Payload: []byte("group"), Dst: netip.AddrPortFrom(g.group, port)},
					Outgoing{Payload: []byte("mark"), Dst: self})
				want := []string{"mark"}
				if loop {
					want = []string{"group", "mark"}
				}
				msgs := collect(t, l, len(want))
				for i, text := range want {
					if string(msgs[i].Payload) != text {
						t.Errorf("loop %t: %q, want %q", loop, msgs[i].Payload, text)
					}
				}
				l.Release(msgs)
			}
		})
	}
}

// Case 87: MAC addresses and TTL of what goes to groups.
func TestMulticastWire(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	p := openTap(t, pair.A)
	l := openOn(t, pair.B, at("[::]:0"))
	if err := l.SetMulticastInterface(pair.B.Index); err != nil {
		t.Fatal(err)
	}
	for _, ttl := range []uint8{1, 5, 255} {
		if ttl != 1 { // the default
			if err := l.SetMulticastTTL(int(ttl)); err != nil {
				t.Fatal(err)
			}
		}
		for dst, mac := range map[string]string{
			"224.0.0.251:9": "01:00:5e:00:00:fb",
			"239.129.2.3:9": "01:00:5e:01:02:03",
			"[ff02::1]:9":   "33:33:00:00:00:01",
		} {
			sendAll(t, l, Outgoing{Payload: []byte("x"), Dst: netip.MustParseAddrPort(dst)})
			if w := p.next(t); w.dstMAC.String() != mac || w.ttl != ttl {
				t.Errorf("%s: MAC %v, TTL %d, want %v, %d", dst, w.dstMAC, w.ttl, mac, ttl)
			}
		}
	}
}

func TestMulticastErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("0.0.0.0:5000"))
	for name, c := range map[string]struct {
		err   error
		errno error
	}{
		"no group":         {l.JoinGroup(netip.Addr{}, 0), unix.EINVAL},
		"no multicast":     {l.JoinGroup(netip.MustParseAddr("10.9.0.9"), pair.B.Index), unix.EINVAL},
		"other family":     {l.JoinGroup(netip.MustParseAddr("ff02::1"), pair.B.Index), unix.EAFNOSUPPORT},
		"no interface":     {l.JoinGroup(netip.MustParseAddr("239.1.2.3"), 9999), unix.ENODEV},
		"no interface set": {l.SetMulticastInterface(9999), unix.EADDRNOTAVAIL},
	} {
		if !errors.Is(c.err, c.errno) || !strings.Contains(c.err.Error(), "0.0.0.0:5000") {
			t.Errorf("%s: %v, want %v", name, c.err, c.errno)
		}
	}
	if l.SetMulticastTTL(-1) == nil || l.SetMulticastTTL(256) == nil {
		t.Error("TTL out of range accepted")
	}
}
