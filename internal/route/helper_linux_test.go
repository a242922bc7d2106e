// SPDX-License-Identifier: MIT

package route

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openEnd opens the tables from within the namespace of an end. All that is done with
// them afterwards is done from outside. Solicitation is faster than it is in earnest.
func openEnd(t testing.TB, e *testnet.End, accept ...int) *Table {
	t.Helper()
	table := prepareEnd(t, e, accept...)
	table.timing.solicit, table.timing.tick = 50*time.Millisecond, 60*time.Millisecond
	table.launch()
	return table
}

// prepareEnd is openEnd up to the goroutines.
func prepareEnd(t testing.TB, e *testnet.End, accept ...int) (table *Table) {
	t.Helper()
	in(t, e, func() (err error) {
		table, err = newTable(Config{Ifindex: e.Index, Accept: accept})
		return err
	})
	t.Cleanup(func() { must(t, table.Close()) })
	return table
}

func newChain(t testing.TB) *testnet.Chain {
	t.Helper()
	testnet.Require(t)
	c, err := testnet.NewChain(testnet.Config{IPv6: true})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// flow is a destination as a sender has it: resolved anew only when the generation
// has changed.
type flow struct {
	t     testing.TB
	table *Table
	q     Query
	a     Answer
	err   error
}

func newFlow(t testing.TB, table *Table, dst netip.Addr) *flow {
	f := &flow{t: t, table: table, q: Query{Dst: dst}}
	f.a, f.err = table.Resolve(f.q)
	return f
}

// look revalidates as a sender does for each datagram.
func (f *flow) look() (Answer, error) {
	if f.a.Gen != f.table.Generation() {
		f.a, f.err = f.table.Resolve(f.q)
	}
	return f.a, f.err
}

// changeWait is what changes may take to be followed.
const changeWait = time.Second

// wait waits until the flow, as its sender sees it, is as wanted.
func (f *flow) wait(what string, want func(Answer, error) bool) {
	f.t.Helper()
	f.waitFor(changeWait, what, want)
}

func (f *flow) waitFor(limit time.Duration, what string, want func(Answer, error) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		a, err := f.look()
		if want(a, err) {
			return
		}
		if f.table.WaitChange(ctx, a.Gen) != nil {
			f.t.Fatalf("%s: after %v still %+v, %v", what, limit, a, err)
		}
	}
}

// resolved makes the kernel resolve the next hop of a flow, and waits for it. What
// was solicited a moment ago has to wait for its turn.
func (f *flow) resolved() {
	f.t.Helper()
	waitUntil(f.t, "resolve", func() bool {
		_, err := f.look()
		must(f.t, errors.Join(err, f.table.Solicit(f.a.NextHop)))
		return f.a.Kind == Unicast
	})
}

// goesTo and is are what a test waits for.
func goesTo(mac packet.MAC) func(Answer, error) bool {
	return func(a Answer, err error) bool { return err == nil && a.Kind == Unicast && a.MAC == mac }
}

func is(k Kind) func(Answer, error) bool {
	return func(a Answer, err error) bool { return err == nil && a.Kind == k }
}

// via makes a gateway that exists in the neighbour table only.
func via(t testing.TB, e *testnet.End, gateway string, last byte) (netip.Addr, packet.MAC) {
	t.Helper()
	addr := netip.MustParseAddr(gateway)
	mac := packet.MAC{2, 0, 0, 0, 0, last}
	must(t, e.AddNeigh(addr, mac[:]))
	return addr, mac
}

func macOf(e testnet.End) packet.MAC {
	mac, _ := packet.MACFrom(e.MAC)
	return mac
}

func ipNet(s string) *net.IPNet {
	p := netip.MustParsePrefix(s)
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func ip(s string) net.IP { return netip.MustParseAddr(s).AsSlice() }

// in does something to the configuration of a namespace.
func in(t testing.TB, e *testnet.End, f func() error) {
	t.Helper()
	must(t, e.NS.Do(f))
}

func addRoute(t testing.TB, e *testnet.End, r netlink.Route) {
	t.Helper()
	in(t, e, func() error { return netlink.RouteReplace(&r) })
}

func delRoute(t testing.TB, e *testnet.End, r netlink.Route) {
	t.Helper()
	in(t, e, func() error { return netlink.RouteDel(&r) })
}

// sysctl writes a setting of the network, "ipv4/..." or "ipv6/...".
func sysctl(t testing.TB, e *testnet.End, name, value string) {
	t.Helper()
	in(t, e, func() error { return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0) })
}

// setNeigh makes an entry with a state that AddNeigh has not.
func setNeigh(t testing.TB, e *testnet.End, addr netip.Addr, mac packet.MAC, state int) {
	t.Helper()
	in(t, e, func() error {
		return netlink.NeighSet(&netlink.Neigh{LinkIndex: e.Index, State: state, IP: addr.AsSlice(), HardwareAddr: mac[:]})
	})
}

// stateOf reads the state that the kernel has for a neighbour, 0 for none.
func stateOf(t testing.TB, e *testnet.End, addr netip.Addr) (state int) {
	t.Helper()
	in(t, e, func() error {
		list, err := netlink.NeighList(e.Index, netlink.FAMILY_ALL)
		for _, n := range list {
			if got, _ := netip.AddrFromSlice(n.IP); got.Unmap() == addr {
				state = n.State
			}
		}
		return err
	})
	return state
}

// linkLocal returns the link-local address of an end.
func linkLocal(t testing.TB, e *testnet.End) (addr netip.Addr) {
	t.Helper()
	in(t, e, func() error {
		list, err := netlink.AddrList(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: e.Index}}, netlink.FAMILY_V6)
		for _, a := range list {
			if a.IP.IsLinkLocalUnicast() {
				addr, _ = netip.AddrFromSlice(a.IP)
			}
		}
		return err
	})
	return addr
}

// family is one of the two, for tests that hold for both.
type family struct {
	name     string
	a, b     netip.Addr   // ends of a pair
	nobody   netip.Addr   // on the link of the pair
	gateway  string       // the same
	gateway2 string       // the same
	far      netip.Addr   // in net, and nowhere
	net      string       // to which there is no route
	host     string       // far as a prefix
	bits     int          // of the link's prefix
	fresh    netip.Prefix // another address for an end
	sysctl   string
}

func families(a, b testnet.End) []family {
	return []family{
		{"IPv4", a.IP4, b.IP4, netip.MustParseAddr("10.9.0.77"), "10.9.0.3", "10.9.0.4",
			netip.MustParseAddr("192.0.2.9"), "192.0.2.0/24", "192.0.2.9/32", 24, netip.MustParsePrefix("10.9.0.5/24"), "ipv4"},
		{"IPv6", a.IP6, b.IP6, netip.MustParseAddr("fd09::77"), "fd09::3", "fd09::4",
			netip.MustParseAddr("2001:db8::9"), "2001:db8::/64", "2001:db8::9/128", 64, netip.MustParsePrefix("fd09::5/64"), "ipv6"},
	}
}

// forBoth runs a test on a fresh pair for each family.
func forBoth(t *testing.T, test func(t *testing.T, p *testnet.Pair, f family)) {
	for i, name := range []string{"IPv4", "IPv6"} {
		t.Run(name, func(t *testing.T) {
			p := testnet.TestPair(t, testnet.Config{IPv6: true})
			test(t, p, families(p.A, p.B)[i])
		})
	}
}

var errnos = []struct {
	name string
	typ  int
	want error
}{
	{"unreachable", unix.RTN_UNREACHABLE, unix.EHOSTUNREACH},
	{"prohibit", unix.RTN_PROHIBIT, unix.EACCES},
	{"blackhole", unix.RTN_BLACKHOLE, unix.EINVAL},
	{"throw", unix.RTN_THROW, unix.ENETUNREACH},
}

// waitUntil asks until a condition of which there is no notification holds.
func waitUntil(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * changeWait); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, 10*changeWait)
		}
	}
}
