// SPDX-License-Identifier: MIT

package route

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// When notifications are lost, the tables are read: what is in the queue is older
// than what was lost, and must not have the last word.
func TestOverrun(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := prepareEnd(t, &p.A)
		must(t, unix.SetsockoptInt(table.events.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1)) // the least there is
		f := newFlow(t, table, fam.b)
		gone, lost := netip.MustParseAddr(fam.gateway), newFlow(t, table, netip.MustParseAddr(fam.gateway))
		// Nobody reads yet: the queue fills up, and the last changes are lost.
		var mac packet.MAC
		for i := range byte(100) {
			mac = packet.MAC{2, 0, 0, 0, 0, i}
			must(t, p.A.AddNeigh(fam.b, mac[:]))
			must(t, p.A.AddNeigh(gone, mac[:]))
		}
		must(t, p.A.SetMTU(1400))
		must(t, p.A.DelNeigh(gone))
		table.launch()
		f.wait("last changes", func(a Answer, err error) bool { return err == nil && a.MAC == mac && a.MTU == 1400 })
		lost.wait("deleted", is(Unresolved))
		if n := table.Stats().Overruns; n != 1 {
			t.Errorf("%d overruns, want 1", n)
		}
		must(t, p.A.AddNeigh(gone, mac[:]))
		lost.wait("followed again", goesTo(mac))
	})
}

// Notifications come faster than they can be read for a while; the end is the
// kernel's state.
func TestManyNeighbours(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	must(t, unix.SetsockoptInt(table.events.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<13))
	var flows []*flow
	for i := range 50 {
		flows = append(flows, newFlow(t, table, netip.AddrFrom4([4]byte{10, 9, 0, byte(100 + i)})))
	}
	for round := range byte(4) {
		for i, f := range flows {
			must(t, p.A.AddNeigh(f.q.Dst, net.HardwareAddr{2, 0, 0, 0, round, byte(i)}))
		}
	}
	for i, f := range flows {
		f.wait("last address", goesTo(packet.MAC{2, 0, 0, 0, 3, byte(i)}))
	}
	t.Logf("%+v", table.Stats())
}

// The settling after a change catches what was asked for while the kernel was in the
// middle of it.
func TestSettle(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	before := table.Generation()
	addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet("192.0.2.0/24")})
	ctx, cancel := context.WithTimeout(t.Context(), changeWait)
	defer cancel()
	for range 2 { // the change, and a while later once more
		must(t, table.WaitChange(ctx, before))
		before++
	}
	if got := table.Generation(); got != before {
		t.Errorf("generation %d, want %d", got, before)
	}
}

func TestWaitChange(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	gen := table.Generation()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := table.WaitChange(ctx, gen); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	ctx = t.Context()
	must(t, table.WaitChange(ctx, gen+1)) // another one is a change
	waits := make(chan error)
	for range 3 {
		go func() { waits <- table.WaitChange(ctx, gen) }()
	}
	changed := table.Changed(gen)
	select {
	case <-changed:
		t.Error("changed before it was")
	default:
	}
	table.Invalidate()
	for range 3 {
		must(t, <-waits)
	}
	<-changed
	gen = table.Generation()
	go func() { waits <- table.WaitChange(ctx, gen) }()
	must(t, table.Close())
	if err := <-waits; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
	<-table.Changed(table.Generation())
}

func TestClosed(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	h := Hop{p.A.Index, p.B.IP4}
	must(t, table.Keep(h))
	must(t, table.Close())
	must(t, table.Close())
	_, resolve := table.Resolve(Query{Dst: p.B.IP4})
	other := Hop{p.A.Index, netip.MustParseAddr("10.9.0.9")}
	for name, err := range map[string]error{
		"resolve": resolve, "solicit": table.Solicit(other), "keep": table.Keep(Hop{p.A.Index, netip.MustParseAddr("10.9.0.8")}),
		"wait": table.WaitChange(t.Context(), table.Generation()),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: got %v, want net.ErrClosed", name, err)
		}
	}
	table.Forget(h)
	table.Invalidate()
}

// Close ends everything at any moment, and leaves nothing.
func TestCloseUnderLoad(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	testnet.Leaks(t)
	for range 20 {
		table := openEnd(t, &p.A)
		var users sync.WaitGroup
		for _, dst := range []netip.Addr{p.B.IP4, p.B.IP6} {
			users.Go(func() {
				for {
					a, err := table.Resolve(Query{Dst: dst})
					if errors.Is(err, net.ErrClosed) {
						return
					}
					if table.Keep(a.NextHop) == nil {
						table.Forget(a.NextHop)
					}
				}
			})
			users.Go(func() {
				for table.WaitChange(context.Background(), table.Generation()) == nil {
				}
			})
		}
		must(t, p.A.FlushNeigh())
		addRoute(t, &p.A, netlink.Route{LinkIndex: p.A.Index, Dst: ipNet("192.0.2.0/24")})
		start := time.Now()
		must(t, table.Close())
		users.Wait()
		if d := time.Since(start); d > changeWait {
			t.Errorf("Close took %v", d)
		}
	}
}

// While the tables cannot be read, attempts go on until Close.
func TestCloseDuringResync(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := prepareEnd(t, &p.A)
	table.timing.retry = time.Millisecond
	table.slow.close()
	before := table.Generation()
	table.wg.Go(func() { table.resync(make([]byte, dumpSize)) })
	must(t, table.Close())
	if table.Generation() == before {
		t.Error("what was lost has not made the answers old")
	}
}

func TestOpenLeavesNothingOnError(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	in(t, &p.A, func() error {
		for _, index := range []int{0, -1, 4711} {
			if _, err := Open(Config{Ifindex: index}); !errors.Is(err, unix.ENODEV) {
				t.Errorf("interface %d: got %v, want ENODEV", index, err)
			}
		}
		return nil
	})
}

// Answers about addresses that nobody has do not grow without a bound.
func TestAskedIsBounded(t *testing.T) {
	m := newMirror(Config{Ifindex: 7})
	hop := func(i int) Hop { return Hop{7, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})} }
	known := neighbour{state: unix.NUD_REACHABLE, mac: packet.MAC{2, 0, 0, 0, 0, 1}}
	m.setNeighbour(hop(0), known)
	m.ask(hop(0))
	for i := 1; i <= maxAsked; i++ {
		if _, purged := m.ask(hop(i)); purged {
			t.Fatalf("purged at %d", i)
		}
	}
	if _, purged := m.ask(hop(1)); purged {
		t.Error("one that is known already purged the others")
	}
	if _, purged := m.ask(hop(maxAsked + 1)); !purged {
		t.Error("not purged at the bound")
	}
	if len(m.neighs) != 2 || m.blank != 1 || m.neighbour(hop(0)) != known {
		t.Errorf("%d entries, %d blank, want the one of the kernel and the last one", len(m.neighs), m.blank)
	}
	if m.setNeighbour(hop(0), neighbour{}) {
		t.Error("a change was news though nobody had asked since")
	}
}

// What the kernel has answered is not recorded over a message that came after it.
func TestRecordIsNotOlder(t *testing.T) {
	m := newMirror(Config{Ifindex: 7})
	h := Hop{7, netip.MustParseAddr("10.9.0.2")}
	usable := neighbour{state: unix.NUD_REACHABLE, mac: packet.MAC{2, 0, 0, 0, 0, 1}}
	m.ask(h)
	before := m.told()
	m.setNeighbour(h, usable)
	m.setNeighbour(h, neighbour{})
	if recorded, news := m.record(h, usable, before); recorded || news || m.neighbour(h).usable() {
		t.Errorf("recorded %t, news %t: %+v", recorded, news, m.neighbour(h))
	}
	if recorded, news := m.record(h, usable, m.told()); !recorded || !news || m.neighbour(h) != usable {
		t.Errorf("recorded %t, news %t: %+v", recorded, news, m.neighbour(h))
	}
}

// Whole tables replace what was known; who was asked for is still waited for.
func TestReplace(t *testing.T) {
	m := newMirror(Config{Ifindex: 7})
	hop := func(last byte) Hop { return Hop{7, netip.AddrFrom4([4]byte{10, 9, 0, last})} }
	n := neighbour{state: unix.NUD_REACHABLE, mac: packet.MAC{2, 0, 0, 0, 0, 1}}
	m.ask(hop(1))
	m.ask(hop(2))
	m.setNeighbour(hop(2), n)
	m.setNeighbour(hop(3), n)
	m.replace(map[int]link{7: {mtu: 1500}}, map[Hop]neighbour{hop(1): n, hop(4): n})
	for _, tc := range []struct {
		hop   Hop
		known bool // by the kernel
		news  bool // if it is deleted, or made
	}{{hop(1), true, true}, {hop(2), false, true}, {hop(3), false, false}, {hop(4), true, false}} {
		if got := m.neighbour(tc.hop).usable(); got != tc.known {
			t.Errorf("%v: usable %t, want %t", tc.hop, got, tc.known)
		}
		change := n
		if tc.known {
			change = neighbour{}
		}
		if got := m.setNeighbour(tc.hop, change); got != tc.news {
			t.Errorf("%v: news %t, want %t", tc.hop, got, tc.news)
		}
	}
	if l, ok := m.link(7); !ok || l.mtu != 1500 {
		t.Errorf("link %+v, %t", l, ok)
	}
}
