// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

func watch(t *testing.T, n *NIC) *Watcher {
	t.Helper()
	w, err := n.Watch()
	must(t, err)
	return w
}

// eventWait is far above the poll interval: a test that runs into it has failed.
const eventWait = 10 * time.Second

// next returns the next event, or fails the test.
func next(t *testing.T, w *Watcher) Event {
	t.Helper()
	select {
	case e, ok := <-w.Events():
		if !ok {
			t.Fatal("events ended")
		}
		return e
	case <-time.After(eventWait):
		t.Fatal("no event")
	}
	return Event{}
}

// until receives events up to one of that kind, and returns all of them.
func until(t *testing.T, w *Watcher, k Kind) []Event {
	t.Helper()
	var seen []Event
	for {
		e := next(t, w)
		seen = append(seen, e)
		if e.Kind == k {
			return seen
		}
	}
}

func kinds(events []Event) []Kind {
	var k []Kind
	for _, e := range events {
		k = append(k, e.Kind)
	}
	return k
}

// Each change is reported, alone, and with the facts after it: cases 22, 100, 101.
func TestEvents(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 2})
	n := openEnd(t, &p.B)
	w := watch(t, n)
	extra := netip.MustParsePrefix("10.9.0.77/24")
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	for _, tc := range []struct {
		name  string
		do    func() error
		want  []Kind
		check func(Link) bool
	}{
		{"MTU", func() error { return p.B.SetMTU(2000) }, []Kind{MTUChanged}, func(l Link) bool { return l.MTU == 2000 }},
		{"MAC", func() error { return p.B.SetMAC(mac) }, []Kind{MACChanged}, func(l Link) bool { return l.MAC.String() == mac.String() }},
		{"rename", func() error { return p.B.Rename("other") }, []Kind{NameChanged}, func(l Link) bool { return l.Name == "other" }},
		{"more queues", func() error { return p.B.SetQueues(4) }, []Kind{QueuesChanged}, func(l Link) bool { return l.RxQueues == 4 && l.TxQueues == 4 }},
		{"fewer queues", func() error { return p.B.SetQueues(1) }, []Kind{QueuesChanged}, func(l Link) bool { return l.RxQueues == 1 && l.MaxRxQueues == 8 }},
		{"address", func() error { return p.B.AddAddr(extra) }, []Kind{AddrChanged}, func(l Link) bool { return slices.Contains(l.Addrs, extra) }},
		{"no address", func() error { return p.B.DelAddr(extra) }, []Kind{AddrChanged}, func(l Link) bool { return !slices.Contains(l.Addrs, extra) }},
		{"down", func() error { return p.B.SetUp(false) }, []Kind{Down}, func(l Link) bool { return !l.Up && !l.Carrier }},
		{"up", func() error { return p.B.SetUp(true) }, []Kind{Up}, func(l Link) bool { return l.Up && l.Carrier }},
		{"no carrier", func() error { return p.A.SetUp(false) }, []Kind{Down}, func(l Link) bool { return l.Up && !l.Carrier }},
		{"carrier", func() error { return p.A.SetUp(true) }, []Kind{Up}, func(l Link) bool { return l.Running() }},
	} {
		must(t, tc.do())
		seen := until(t, w, tc.want[len(tc.want)-1])
		if got := kinds(seen); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
		if l := seen[len(seen)-1].Link; !tc.check(l) || l.Index != p.B.Index || l.Driver != "veth" {
			t.Errorf("%s: got %+v", tc.name, l)
		}
	}
}

// What happens to other interfaces, and to a bridge that the interface joins and
// leaves, is not reported.
func TestOthersAreNotReported(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	w := watch(t, n)
	mv, err := p.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
	must(t, err)
	must(t, mv.SetMTU(1000))
	must(t, mv.Delete())
	must(t, p.B.NS.Do(joinAndLeaveBridge(p.B.Index)))
	must(t, p.B.SetMTU(1400))
	if got := kinds(until(t, w, MTUChanged)); !slices.Equal(got, []Kind{MTUChanged}) {
		t.Errorf("got %v, want only the last change", got)
	}
}

func joinAndLeaveBridge(index int) func() error {
	return func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "bridge"
		bridge := &netlink.Bridge{LinkAttrs: attrs}
		if err := netlink.LinkAdd(bridge); err != nil {
			return err
		}
		port := netlink.NewLinkAttrs()
		port.Index = index
		return errors.Join(
			netlink.LinkSetMaster(&netlink.Device{LinkAttrs: port}, bridge),
			netlink.LinkSetNoMaster(&netlink.Device{LinkAttrs: port}),
			netlink.LinkDel(bridge))
	}
}

// Cases 99 and 107: an interface that is deleted or moved is gone for good, however
// soon one of the same name and even index is there.
func TestGone(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, p *testnet.Pair)
	}{
		{"deleted", func(t *testing.T, p *testnet.Pair) { must(t, p.B.Delete()) }},
		{"other end deleted", func(t *testing.T, p *testnet.Pair) { must(t, p.A.Delete()) }},
		{"made again", func(t *testing.T, p *testnet.Pair) {
			must(t, p.A.Delete())
			must(t, p.B.NS.Do(func() error {
				attrs := netlink.NewLinkAttrs()
				attrs.Name, attrs.Index = p.B.Name, p.B.Index
				veth := netlink.NewVeth(attrs)
				veth.MTU, veth.PeerName = 9000, "peer"
				return netlink.LinkAdd(veth)
			}))
		}},
		{"moved away", func(t *testing.T, p *testnet.Pair) { must(t, p.B.Move(p.A.NS)) }},
		{"moved away and back", func(t *testing.T, p *testnet.Pair) {
			home, index := p.B.NS, p.B.Index
			must(t, p.B.Move(p.A.NS))
			must(t, p.B.Move(home))
			if p.B.Index != index {
				t.Logf("came back with index %d instead of %d", p.B.Index, index)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := testnet.TestPair(t, testnet.Config{})
			n := openEnd(t, &p.B)
			name := p.B.Name
			w := watch(t, n)
			start := time.Now()
			tc.do(t, p)
			seen := until(t, w, Gone)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("noticed after %v", d)
			}
			if l := seen[len(seen)-1].Link; l.Name != name || l.MTU != 1500 {
				t.Errorf("last facts: got %+v", l)
			}
			if e, ok := <-w.Events(); ok {
				t.Errorf("got %v after the end", e.Kind)
			}
		})
	}
}

// A receiver that comes late finds the final facts in the last event.
func TestLateReceiver(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	w := watch(t, n)
	for mtu := 1000; mtu <= 1200; mtu++ {
		must(t, p.B.SetMTU(mtu))
		must(t, p.B.SetUp(mtu%2 == 0))
	}
	must(t, p.B.Rename("last"))
	seen := until(t, w, NameChanged)
	if last := seen[len(seen)-1].Link; last.MTU != 1200 || !last.Up {
		t.Errorf("got %+v, want MTU 1200 and up", last)
	}
}

// When a socket overruns, what is lost is made up for by asking: the final facts
// arrive, and not from the poll, which is off here.
func TestOverrun(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	w := n.watch
	w.poll = time.Hour
	for _, s := range w.sockets {
		must(t, s.SetReceiveBufferSize(1, false)) // the kernel's minimum: a few messages
	}
	must(t, w.join())
	now := facts(t, n)
	// Nobody reads yet: the sockets fill up, and the last changes are lost.
	for mtu := 1000; mtu <= 1100; mtu++ {
		must(t, p.B.SetMTU(mtu))
		must(t, p.B.SetQueues(2+mtu%2))
	}
	must(t, p.B.AddAddr(netip.MustParsePrefix("10.9.0.77/24")))
	w.launch(now)
	var last Link
	for last.MTU != 1100 || last.RxQueues != 2 || len(last.Addrs) != 2 {
		last = next(t, w).Link
	}
}

// What is over when the facts are read has still happened: a link that was down for
// a moment, an address that is back already.
func TestShortChanges(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	s := state{now: facts(t, n)}
	n.watch.apply(&s, note{what: addrRemoved, addr: s.now.Addrs[0]})
	if got := kinds(s.pending); !slices.Equal(got, []Kind{AddrChanged}) || len(s.now.Addrs) != 1 {
		t.Errorf("address back: got %v and %+v", got, s.now)
	}
	w := watch(t, n)
	for range 10 {
		must(t, p.B.SetUp(false))
		must(t, p.B.SetUp(true))
		if got := kinds(until(t, w, Up)); !slices.Equal(got, []Kind{Down, Up}) {
			t.Errorf("flap: got %v", got)
		}
	}
}

// After the end nothing counts, not even an interface with the same index.
func TestNothingAfterTheEnd(t *testing.T) {
	s := state{now: Link{Index: 3, MTU: 1500}}
	var w Watcher
	for _, n := range []note{
		{what: linkIs, link: Link{Index: 3, MTU: 1400}},
		{what: linkGone},
		{what: linkIs, link: Link{Index: 3, MTU: 9000, Up: true, Carrier: true}},
		{what: queuesAre, channels: channels{index: 3, rx: 5}},
		{what: factsUnknown},
		{what: linkGone},
	} {
		w.apply(&s, n)
	}
	if got := kinds(s.pending); !slices.Equal(got, []Kind{MTUChanged, Gone}) || s.pending[1].Link.MTU != 1400 {
		t.Errorf("got %v with %+v", got, s.pending)
	}
}

// Without notifications the poll alone reports everything, as on kernels that have
// none for queues.
func TestPoll(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	forceIoctl(t, n, p.B.NS)
	n.watch.poll = 10 * time.Millisecond
	for i := range n.watch.sockets {
		n.watch.sockets[i].groups = nil
	}
	w := watch(t, n)
	must(t, p.B.SetQueues(2))
	until(t, w, QueuesChanged)
	must(t, p.B.SetMTU(1400))
	until(t, w, MTUChanged)
	must(t, p.B.Delete())
	until(t, w, Gone)
}

func TestWatchOnce(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	w := watch(t, n)
	if _, err := n.Watch(); !errors.Is(err, errWatched) {
		t.Errorf("second Watch: got %v", err)
	}
	for range 2 {
		w.Close()
		if e, ok := <-w.Events(); ok {
			t.Errorf("got %v after Close", e.Kind)
		}
	}
	if _, err := n.Watch(); !errors.Is(err, errWatched) {
		t.Errorf("Watch after Close: got %v", err)
	}
	if l := facts(t, n); l.MTU != 1500 {
		t.Errorf("the NIC lives on without its watcher: got %+v", l)
	}
}

// Close ends a watcher at any moment: with events that nobody takes, and while
// others arrive.
func TestCloseUnderEvents(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	for round := range 30 {
		n := openEnd(t, &p.B)
		w := watch(t, n)
		changed := make(chan error, 1)
		go func() { changed <- errors.Join(p.B.SetMTU(1000+round), p.A.SetMTU(1000+round)) }()
		if round%2 == 0 {
			next(t, w)
		}
		start := time.Now()
		must(t, n.Close())
		if d := time.Since(start); d > time.Second {
			t.Errorf("Close took %v", d)
		}
		for range w.Events() {
			t.Error("event after Close")
		}
		must(t, <-changed)
	}
}

func TestWatchOfGoneInterface(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	must(t, p.B.Delete())
	if _, err := n.Watch(); !errors.Is(err, ErrNoInterface) || !errors.Is(err, unix.ENODEV) {
		t.Errorf("got %v, want ErrNoInterface", err)
	}
}
