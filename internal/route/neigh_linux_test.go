// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// What happens to the entry of a neighbour happens to the flows through it.
func TestNeighbourChange(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		f.resolved()
		must(t, p.A.DelNeigh(fam.b))
		f.wait("deleted", is(Unresolved))
		mac, mac2 := packet.MAC{2, 0, 0, 0, 0, 5}, packet.MAC{2, 0, 0, 0, 0, 6}
		must(t, p.A.AddNeigh(fam.b, mac[:]))
		f.wait("permanent", goesTo(mac))
		must(t, p.A.AddNeigh(fam.b, mac2[:]))
		f.wait("other MAC", goesTo(mac2))
		must(t, p.A.FlushNeigh())
		f.wait("flushed", is(Unresolved))
		must(t, p.B.SetMAC(mac[:]))
		f.resolved()
		if f.a.MAC != mac {
			t.Errorf("got %v, want the new address %v of the peer", f.a.MAC, mac)
		}
	})
}

// Changes that alter no answer leave the generation alone: of the state of a
// neighbour that stays usable, and of neighbours that no answer was about.
func TestUnalteredNeighbour(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		gateway, mac := via(t, &p.A, fam.gateway, 3)
		table := openEnd(t, &p.A)
		f := newFlow(t, table, gateway)
		if !goesTo(mac)(f.a, f.err) {
			t.Fatalf("got %+v, %v", f.a, f.err)
		}
		before := table.Generation()
		for range 10 {
			for _, state := range []int{netlink.NUD_REACHABLE, netlink.NUD_STALE, netlink.NUD_DELAY, netlink.NUD_NOARP, netlink.NUD_PERMANENT} {
				setNeigh(t, &p.A, gateway, mac, state)
			}
			via(t, &p.A, fam.gateway2, 4)
			must(t, p.A.DelNeigh(netip.MustParseAddr(fam.gateway2)))
		}
		mac2 := packet.MAC{2, 0, 0, 0, 0, 5}
		must(t, p.A.AddNeigh(gateway, mac2[:]))
		f.wait("altered", goesTo(mac2))
		if s := table.Stats(); s.Neighbours != 1 || s.Generation != before+1 {
			t.Errorf("got %+v, want one change, from generation %d", s, before)
		}
	})
}

// Case 84, the second half: nobody answers, and that is told. It stays told while the
// kernel is made to try again.
func TestNobodyAnswers(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		// The kernel gives up after three questions.
		sysctl(t, &p.A, fam.sysctl+"/neigh/"+p.A.Name+"/retrans_time_ms", "20")
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.nobody)
		if f.err != nil || f.a.Kind != Unresolved || f.a.Failed {
			t.Fatalf("got %+v, %v", f.a, f.err)
		}
		must(t, table.Solicit(f.a.NextHop))
		f.wait("failed", func(a Answer, err error) bool { return err == nil && a.Kind == Unresolved && a.Failed })
		waitUntil(t, "second attempt", func() bool {
			must(t, table.Solicit(f.a.NextHop))
			return table.Stats().Solicited == 2
		})
		if a, err := f.look(); err != nil || a.Kind != Unresolved || !a.Failed || a.MAC != (packet.MAC{}) {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// Frames with a false source do not change an answer, whatever they claim.
func TestForgedFrames(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	f := newFlow(t, table, p.B.IP4)
	f.resolved()
	var conn *net.UDPConn
	in(t, &p.A, func() (err error) {
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: p.A.IP4.AsSlice()})
		return err
	})
	defer func() { _ = conn.Close() }()
	before := f.a
	port := conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	template, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC{2, 0, 0, 0, 0, 66}, DstMAC: macOf(p.A),
		Src: netip.AddrPortFrom(p.B.IP4, 9), Dst: netip.AddrPortFrom(p.A.IP4, port),
	})
	must(t, err)
	raw, err := testnet.OpenRaw(p.B)
	must(t, err)
	defer func() { _ = raw.Close() }()
	frame := make([]byte, 64)
	template.Put(frame, frame[template.Len():])
	must(t, raw.Send(frame))
	must(t, conn.SetReadDeadline(time.Now().Add(10*changeWait)))
	if _, _, err := conn.ReadFromUDP(frame); err != nil {
		t.Fatal(err) // the kernel has seen it
	}
	now, err := table.Resolve(f.q)
	now.Gen = before.Gen
	if d := diff(before, now); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// A permanent entry is never touched: the kernel would make it an ordinary one.
func TestPermanentStays(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		gateway, _ := via(t, &p.A, fam.gateway, 3)
		table := openEnd(t, &p.A)
		h := Hop{p.A.Index, gateway}
		must(t, table.Keep(h))
		if list := table.tired(time.Now().Add(time.Hour)); len(list) != 0 {
			t.Errorf("to be touched: %v", list)
		}
		must(t, table.touch(h))
		if got := stateOf(t, &p.A, gateway); got != netlink.NUD_PERMANENT || table.Stats().Solicited != 0 {
			t.Errorf("state %#x, want permanent", got)
		}
	})
}

// Where the kernel resolves nothing, its entries are made without notification. One
// who waits learns of them all the same.
func TestNoARP(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	in(t, &p.A, func() error {
		return netlink.LinkSetARPOff(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: p.A.Index}})
	})
	table := openEnd(t, &p.A)
	f, waiting := newFlow(t, table, p.B.IP4), newFlow(t, table, p.B.IP4)
	must(t, table.Solicit(f.a.NextHop))
	waiting.wait("entry made", goesTo(macOf(p.A))) // that is what the kernel would use
	must(t, table.touch(f.a.NextHop))
	// And one who asks first finds them.
	other := netip.MustParseAddr("10.9.0.9")
	in(t, &p.A, func() error {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(other, 9)))
		if err != nil {
			return err
		}
		_, err = conn.Write(nil)
		return errors.Join(err, conn.Close())
	})
	if first := newFlow(t, table, other); !goesTo(macOf(p.A))(first.a, first.err) {
		t.Errorf("made by the kernel: got %+v, %v", first.a, first.err)
	}
}

// A stale entry that was touched is not touched again until the kernel knows more.
func TestTouched(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		setNeigh(t, &p.A, fam.b, macOf(p.B), netlink.NUD_STALE)
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		if !table.mirror.neighbour(f.a.NextHop).stale() {
			t.Fatalf("got %+v, want it stale", f.a)
		}
		must(t, table.touch(f.a.NextHop))
		if got := stateOf(t, &p.A, fam.b); table.mirror.neighbour(f.a.NextHop).stale() || got == netlink.NUD_STALE {
			t.Errorf("still stale; in the kernel %#x", got)
		}
	})
}

// Devices whose neighbours have no Ethernet address are the kernel's.
func TestLoopbackDevice(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	addRoute(t, &p.A, netlink.Route{LinkIndex: 1, Dst: ipNet("192.0.2.0/24"), Scope: netlink.SCOPE_LINK})
	lo := p.A
	lo.Index = 1
	table := openEnd(t, &lo)
	for dst, want := range map[string]Kind{"192.0.2.9": KernelOnly, "127.0.0.1": Local, "::1": Local, "10.9.0.2": OtherInterface} {
		if a, err := table.Resolve(Query{Dst: netip.MustParseAddr(dst)}); err != nil || a.Kind != want || a.MAC != (packet.MAC{}) {
			t.Errorf("%s: got %+v, %v, want %v", dst, a, err, want)
		}
	}
}

// A neighbour whose address is zeros, as on a device without addresses of its own,
// never becomes the destination of a frame.
func TestZeroMAC(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	must(t, p.A.AddNeigh(p.B.IP4, make(net.HardwareAddr, 6)))
	f := newFlow(t, openEnd(t, &p.A), p.B.IP4)
	if !is(KernelOnly)(f.a, f.err) {
		t.Errorf("got %+v, %v", f.a, f.err)
	}
}
