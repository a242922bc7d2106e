// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// openEnd opens an interface from within its namespace. All that is done with it
// afterwards is done from outside.
func openEnd(t *testing.T, e *testnet.End) *NIC {
	t.Helper()
	var n *NIC
	must(t, e.NS.Do(func() (err error) {
		n, err = Open(e.Name)
		return err
	}))
	t.Cleanup(func() { must(t, n.Close()) })
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// facts reads the link, and fails the test if that fails.
func facts(t *testing.T, n *NIC) Link {
	t.Helper()
	l, err := n.Link()
	must(t, err)
	return l
}

func TestLinkOfVeth(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 3, MTU: 2000, IPv6: true})
	n := openEnd(t, &p.B)
	want := Link{
		Index: p.B.Index, Name: p.B.Name, Kind: "veth", Driver: "veth", MAC: p.B.MAC, MTU: 2000, Up: true, Carrier: true,
		Addrs:    []netip.Prefix{netip.PrefixFrom(p.B.IP4, 24), netip.PrefixFrom(p.B.IP6, 64)},
		RxQueues: 3, TxQueues: 3, MaxRxQueues: 8, MaxTxQueues: 8,
	}
	got := facts(t, n)
	linkLocal := func(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() }
	opts := []cmp.Option{
		cmpopts.IgnoreFields(Link{}, "XDP"), cmpopts.IgnoreSliceElements(linkLocal),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("want -, got +\n%s", d)
	}
	if n.Index() != p.B.Index || !got.Running() {
		t.Errorf("index %d, running %t", n.Index(), got.Running())
	}
	byIndex := openIndex(t, &p.B)
	if d := cmp.Diff(got, facts(t, byIndex), opts[2]); d != "" {
		t.Errorf("opened by index, it differs:\n%s", d)
	}
}

func openIndex(t *testing.T, e *testnet.End) *NIC {
	t.Helper()
	var n *NIC
	must(t, e.NS.Do(func() (err error) {
		n, err = OpenIndex(e.Index)
		return err
	}))
	t.Cleanup(func() { must(t, n.Close()) })
	return n
}

// The features are those of the driver (cases 5 and 7): veth has native XDP and no
// zero-copy, a macvlan has neither.
func TestFeatures(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	if n.netdev.id == 0 {
		if got := facts(t, n).XDP; got != (Features{}) {
			t.Errorf("kernel without the netdev family: got %+v", got)
		}
		return
	}
	if f := facts(t, n).XDP; !f.Known || !f.Basic || !f.Redirect || !f.RxSG || f.ZeroCopy {
		t.Errorf("veth: got %+v", f)
	}
	mv, err := p.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
	must(t, err)
	l := facts(t, openEnd(t, &mv))
	if l.XDP.Basic || l.XDP.Redirect || !l.XDP.Known {
		t.Errorf("macvlan: got %+v", l.XDP)
	}
	if l.Kind != "macvlan" || l.Parent != p.B.Index || l.ParentOutside || l.RxQueues != 1 || l.MaxRxQueues != 1 {
		t.Errorf("macvlan over %d: got %+v", p.B.Index, l)
	}
}

// A macvlan whose lower interface stayed in another namespace says so.
func TestParentOutside(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	mv, err := p.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
	must(t, err)
	must(t, mv.Move(p.A.NS))
	if l := facts(t, openEnd(t, &mv)); l.Parent != p.B.Index || !l.ParentOutside {
		t.Errorf("got %+v", l)
	}
}

func TestLoopback(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	l := facts(t, openEnd(t, &testnet.End{NS: p.A.NS, Name: "lo", Index: 1}))
	if l.Index != 1 || !l.Running() || l.Kind != "" || l.RxQueues != 1 || l.Parent != 0 ||
		len(l.Addrs) == 0 || l.Addrs[0].String() != "127.0.0.1/8" {
		t.Errorf("got %+v", l)
	}
}

// Case 8: the number of active queues, not of possible ones; and case 9, down.
func TestLinkFollows(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	if l := facts(t, n); l.RxQueues != 1 || l.TxQueues != 1 {
		t.Errorf("got %d and %d queues, want 1", l.RxQueues, l.TxQueues)
	}
	must(t, p.B.SetQueues(2))
	must(t, p.B.Rename("other"))
	if l := facts(t, n); l.RxQueues != 2 || l.TxQueues != 2 || l.Name != "other" || l.Driver != "veth" {
		t.Errorf("got %+v, want 2 queues and the new name", l)
	}
	must(t, p.A.SetUp(false))
	if l := facts(t, n); !l.Up || l.Carrier || l.Running() {
		t.Errorf("peer down: got %+v", l)
	}
	must(t, p.B.SetUp(false))
	if l := facts(t, n); l.Up || l.Carrier {
		t.Errorf("down: got %+v", l)
	}
}

// Kernels without ethtool netlink tell the same by ioctl.
func TestQueuesByIoctl(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 2})
	mv, err := p.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
	must(t, err)
	for _, e := range []*testnet.End{&p.B, &mv} {
		n := openEnd(t, e)
		want := facts(t, n)
		forceIoctl(t, n, e.NS)
		if d := cmp.Diff(want, facts(t, n), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
			t.Errorf("netlink -, ioctl +\n%s", d)
		}
	}
	n := openEnd(t, &p.B)
	forceIoctl(t, n, p.B.NS)
	if _, _, err := n.old.channels("none"); !errors.Is(err, ErrNoInterface) {
		t.Errorf("no such interface: got %v", err)
	}
}

// forceIoctl makes a NIC what it would be on a kernel before Linux 5.6.
func forceIoctl(t *testing.T, n *NIC, ns *testnet.NS) {
	t.Helper()
	n.ethtool = family{}
	must(t, ns.Do(func() (err error) {
		n.old, err = newChannelIoctl()
		return err
	}))
}

// Case 9: what is missing or cannot be is named, and never cut to a name that is.
func TestOpenErrors(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	must(t, p.B.Rename("fifteen-bytes-x"))
	for _, name := range []string{"nosuch", p.B.Name + "y", "", "lo\x00", "lo\x00x", strings.Repeat("long", 1000), "a/b", "."} {
		err := p.B.NS.Do(func() error {
			n, err := Open(name)
			if err == nil {
				_ = n.Close()
			}
			return err
		})
		if !errors.Is(err, ErrNoInterface) || !errors.Is(err, unix.ENODEV) {
			t.Errorf("%.20q: got %v, want ErrNoInterface, also as ENODEV", name, err)
			continue
		}
		if !strings.Contains(err.Error(), strings.Trim(fmt.Sprintf("%q", name), `"`)) {
			t.Errorf("error does not name %q: %v", name, err)
		}
	}
	for _, index := range []int{9999, 0, -1} {
		err := p.B.NS.Do(func() error { _, err := OpenIndex(index); return err })
		if !errors.Is(err, ErrNoInterface) || !strings.Contains(err.Error(), fmt.Sprint(index)) {
			t.Errorf("index %d: got %v", index, err)
		}
	}
	n := openEnd(t, &p.B) // 15 bytes are a name
	must(t, n.Close())
	if l, err := n.Link(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Link after Close: got %+v, %v, want net.ErrClosed", l, err)
	}
	if _, err := n.Watch(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Watch after Close: got %v, want net.ErrClosed", err)
	}
}

// Case 99: the same name again is another interface.
func TestGoneInterface(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	must(t, p.B.Delete())
	_, err := n.Link()
	if !errors.Is(err, ErrNoInterface) || !errors.Is(err, unix.ENODEV) || !strings.Contains(err.Error(), p.B.Name) {
		t.Errorf("got %v, want ErrNoInterface with the name", err)
	}
}

// Opening, watching and closing leaves nothing, whether it works or not.
func TestNothingIsLeft(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	for range 200 {
		must(t, p.B.NS.Do(func() error {
			n, err := Open(p.B.Name)
			if err != nil {
				return err
			}
			if _, err := n.Watch(); err != nil {
				return err
			}
			return errors.Join(n.Close(), n.Close())
		}))
		if err := p.B.NS.Do(func() error { _, err := Open("nosuch"); return err }); !errors.Is(err, ErrNoInterface) {
			t.Fatal(err)
		}
	}
}

// A program that starts another must not give it these sockets.
func TestCloseOnExec(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	before := openFDs(t)
	n := openEnd(t, &p.B)
	forceIoctl(t, n, p.B.NS)
	opened := 0
	for fd := range openFDs(t) {
		if before[fd] {
			continue
		}
		opened++
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d: flags %#x, %v, want close-on-exec", fd, flags, err)
		}
	}
	if opened < 4 {
		t.Errorf("saw %d new descriptors, want at least 4 sockets", opened)
	}
}

func openFDs(t *testing.T) map[int]bool {
	t.Helper()
	fds := make(map[int]bool)
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err != nil {
			t.Fatal(err)
		}
		// The directory's own descriptor is closed by now.
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			fds[fd] = true
		}
	}
	return fds
}

// No capability is needed for any fact.
func TestUnprivileged(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	attachLink(t, &p.B, 0)
	var got Link
	must(t, p.B.NS.Do(func() error {
		// This thread only, which is thrown away: the package's own function would
		// change all threads.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			return errno
		}
		n, err := Open(p.B.Name)
		if err != nil {
			return err
		}
		defer func() { _ = n.Close() }()
		if _, err := n.Watch(); err != nil {
			return err
		}
		got, err = n.Link()
		return err
	}))
	want := facts(t, openEnd(t, &p.B))
	if len(want.Programs) != 1 || want.Programs[0].Name == "" {
		t.Fatalf("as root, got programs %+v", want.Programs)
	}
	want.Programs[0].Name = "" // the one thing that takes a capability
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Errorf("root -, nobody +\n%s", d)
	}
}
