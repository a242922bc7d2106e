// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// A neighbour that is kept comes back by itself when it is lost, and is confirmed
// when the kernel calls it stale.
func TestKeep(t *testing.T) {
	forBoth(t, func(t *testing.T, p *testnet.Pair, fam family) {
		table := openEnd(t, &p.A)
		f := newFlow(t, table, fam.b)
		must(t, table.Keep(f.a.NextHop))
		must(t, table.Keep(f.a.NextHop))
		f.wait("kept", goesTo(macOf(p.B)))
		table.Forget(f.a.NextHop) // one user is left
		must(t, p.A.DelNeigh(fam.b))
		f.wait("deleted", is(Unresolved))
		f.waitFor(2*changeWait, "back", goesTo(macOf(p.B)))
		setNeigh(t, &p.A, fam.b, macOf(p.B), netlink.NUD_STALE)
		waitUntil(t, "confirmed", func() bool {
			state := stateOf(t, &p.A, fam.b)
			return state == netlink.NUD_DELAY || state == netlink.NUD_PROBE || state == netlink.NUD_REACHABLE
		})
	})
}

// A stale neighbour that has moved is found at its new address, or given up.
func TestKeepFindsMoved(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	for name, value := range map[string]string{"delay_first_probe_time": "0", "retrans_time_ms": "20"} {
		sysctl(t, &p.A, "ipv4/neigh/"+p.A.Name+"/"+name, value)
	}
	table := openEnd(t, &p.A)
	old := packet.MAC{2, 0, 0, 0, 0, 7}
	setNeigh(t, &p.A, p.B.IP4, old, netlink.NUD_STALE)
	f := newFlow(t, table, p.B.IP4)
	if !goesTo(old)(f.a, f.err) {
		t.Fatalf("got %+v, %v", f.a, f.err)
	}
	must(t, table.Keep(f.a.NextHop))
	f.waitFor(5*changeWait, "moved", goesTo(macOf(p.B)))
}

// Which of the kept need the kernel's attention, and until when.
func TestTired(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	table.keep.ticker.Stop()
	hop := func(last byte) Hop { return Hop{p.A.Index, netip.AddrFrom4([4]byte{10, 9, 0, last})} }
	mac := packet.MAC{2, 0, 0, 0, 0, 7}
	states := []uint16{unix.NUD_PERMANENT, unix.NUD_NOARP, unix.NUD_REACHABLE, unix.NUD_DELAY, unix.NUD_PROBE, unix.NUD_STALE, unix.NUD_FAILED, unix.NUD_NONE}
	for i, state := range states {
		table.mirror.setNeighbour(hop(byte(i+10)), neighbour{state, mac})
		table.keep.add(hop(byte(i+10)), time.Hour)
	}
	want := func(when string, now time.Time, want ...byte) {
		t.Helper()
		var got []byte
		for _, h := range table.tired(now) {
			got = append(got, h.Addr.As4()[3])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	now := time.Now()
	want("at first", now, 15, 16, 17)
	want("after half a minute", now.Add(31*time.Second), 12, 13, 14, 15, 16, 17)
	want("after half a minute and a second", now.Add(32*time.Second), 15, 16, 17)
	table.mirror.touched(hop(15))
	want("with the stale one under way", now.Add(33*time.Second), 16, 17)
	table.keep.add(hop(16), time.Hour)
	table.Forget(hop(16))
	want("with one user less", now.Add(34*time.Second), 16, 17)
	table.Forget(hop(16))
	table.Forget(hop(16))
	want("with none", now.Add(35*time.Second), 17)
}

// One request a second about one neighbour, and a bound on how many.
func TestSolicitInterval(t *testing.T) {
	k := newKeeper()
	now, interval := time.Now(), defaultTiming().solicit
	ask := func(h Hop, now time.Time, want bool) {
		t.Helper()
		if got, err := k.due(h, now, interval); err != nil || got != want {
			t.Fatalf("got %t, %v, want %t", got, err, want)
		}
	}
	hop := func(i int) Hop { return Hop{1, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})} }
	ask(hop(0), now, true)
	ask(hop(0), now.Add(interval-1), false)
	ask(hop(0), now.Add(interval), true)
	for i := range maxSolicited {
		_, err := k.due(hop(i), now.Add(interval), interval)
		must(t, err)
	}
	if _, err := k.due(hop(maxSolicited), now.Add(interval), interval); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("got %v, want EAGAIN", err)
	}
	ask(hop(maxSolicited), now.Add(2*interval), true)
	if len(k.asked) != 1 {
		t.Errorf("%d are remembered, want 1", len(k.asked))
	}
}

func TestSolicitIsRateLimited(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	start := time.Now()
	for range 100 {
		must(t, table.Solicit(Hop{p.A.Index, p.B.IP4}))
	}
	if n, most := table.Stats().Solicited, uint64(1+time.Since(start)/table.timing.solicit); n > most {
		t.Errorf("%d requests, want at most %d", n, most)
	}
}

func TestNotANeighbour(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	table := openEnd(t, &p.A)
	for _, h := range []Hop{
		{}, {p.A.Index, netip.Addr{}}, {1, p.B.IP4}, {p.A.Index, netip.MustParseAddr("224.0.0.1")},
		{p.A.Index, netip.IPv4Unspecified()}, {p.A.Index, netip.MustParseAddr("255.255.255.255")},
		{p.A.Index, netip.MustParseAddr("fe80::1%x")}, {p.A.Index, netip.MustParseAddr("::ffff:10.9.0.2")},
	} {
		if err := errors.Join(table.Solicit(h)); !errors.Is(err, unix.EINVAL) {
			t.Errorf("solicit %v: got %v, want EINVAL", h, err)
		}
		if err := table.Keep(h); !errors.Is(err, unix.EINVAL) {
			t.Errorf("keep %v: got %v, want EINVAL", h, err)
		}
	}
	if len(table.keep.hops) != 0 {
		t.Errorf("kept: %v", table.keep.hops)
	}
}

// Without a right everything works but Solicit and Keep, whose error says what to do.
func TestWithoutCapabilities(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	permanent := netip.MustParseAddr("10.9.0.3")
	must(t, p.A.AddNeigh(permanent, net.HardwareAddr{2, 0, 0, 0, 0, 3}))
	in(t, &p.A, func() error {
		// The thread ends with this function.
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		must(t, unix.Capset(&head, &none[0]))
		table, err := Open(Config{Ifindex: p.A.Index})
		must(t, err)
		defer func() { must(t, table.Close()) }()
		h := Hop{p.A.Index, p.B.IP4}
		// The second request is too soon, and must not pass for one that was made.
		for name, err := range map[string]error{"solicit": table.Solicit(h), "again": table.Solicit(h), "keep": table.Keep(h),
			"keep another": table.Keep(Hop{p.A.Index, netip.MustParseAddr("10.9.0.9")})} {
			if !errors.Is(err, ErrNotPermitted) || !errors.Is(err, unix.EPERM) || !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: got %v, want ErrNotPermitted", name, err)
			}
		}
		if err := table.Keep(Hop{p.A.Index, permanent}); err != nil {
			t.Errorf("keep a permanent neighbour: %v", err)
		}
		if len(table.keep.hops) != 1 {
			t.Errorf("kept: %v", table.keep.hops)
		}
		f := newFlow(t, table, p.B.IP4)
		// The other way: a datagram of the kernel's own.
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.B.IP4, 9)))
		must(t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.Write(nil)
		must(t, err)
		f.wait("resolved by a datagram", goesTo(macOf(p.B)))
		return nil
	})
}
