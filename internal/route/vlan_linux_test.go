// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Answers over an interface on top of ours are ours if it is accepted.
func TestAccept(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	must(t, p.B.AddAddr(netip.MustParsePrefix("10.10.0.2/24")))
	upper, err := p.A.AddMacvlan(netip.MustParsePrefix("10.10.0.1/24"))
	must(t, err)
	dst := netip.MustParseAddr("10.10.0.2")
	if f := newFlow(t, openEnd(t, &p.A), dst); !is(OtherInterface)(f.a, f.err) || f.a.NextHop.Ifindex != upper.Index {
		t.Errorf("not accepted: got %+v, %v", f.a, f.err)
	}
	table := openEnd(t, &p.A, upper.Index)
	f := newFlow(t, table, dst)
	f.resolved()
	want := Answer{
		Kind: Unicast, NextHop: Hop{upper.Index, dst}, MAC: macOf(p.B), SrcMAC: macOf(upper), Src: upper.IP4, MTU: 1500, Gen: f.a.Gen,
	}
	if d := diff(want, f.a); d != "" {
		t.Error(d)
	}
	below := newFlow(t, table, p.B.IP4)
	below.resolved()
	if below.a.NextHop.Ifindex != p.A.Index || below.a.SrcMAC != macOf(p.A) {
		t.Errorf("over the interface below: got %+v", below.a)
	}
	if a, err := table.Resolve(Query{Dst: netip.MustParseAddr("239.1.1.1")}); err != nil || a.NextHop.Ifindex != p.A.Index {
		t.Errorf("group: got %+v, %v, want it on the interface below", a, err)
	}
	must(t, upper.SetMTU(1400))
	f.wait("MTU of the upper interface", func(a Answer, err error) bool { return err == nil && a.MTU == 1400 })
	must(t, upper.Delete())
	f.wait("deleted", func(a Answer, err error) bool { return errors.Is(err, unix.ENETUNREACH) })
}

// Tags: as the messages of the kernel have them, since not every kernel has VLANs.
func TestTag(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	upper, err := p.A.AddMacvlan(netip.MustParsePrefix("10.10.0.1/24"))
	must(t, err)
	table := prepareEnd(t, &p.A, upper.Index)
	dst, mac := via(t, &upper, "10.10.0.2", 2)
	for _, tc := range []struct {
		protocol netlink.VlanProtocol
		kind     Kind
		mac      packet.MAC
	}{
		{netlink.VLAN_PROTOCOL_8021Q, Unicast, mac},
		{netlink.VLAN_PROTOCOL_8021AD, KernelOnly, packet.MAC{}},
	} {
		_, news, err := table.mirror.apply(unix.RTM_NEWLINK, vlanMessage(upper, p.A.Index, 10, tc.protocol))
		if err != nil || !news {
			t.Fatalf("%v: news %t, %v", tc.protocol, news, err)
		}
		a, err := table.Resolve(Query{Dst: dst})
		if err != nil || a.Kind != tc.kind || a.MAC != tc.mac || a.VLAN != 10 || a.MTU != 1496 || a.SrcMAC != macOf(upper) {
			t.Errorf("%v: got %+v, %v", tc.protocol, a, err)
		}
	}
}

// The same with interfaces of the kernel's.
func TestVLAN(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{IPv6: true})
	tagged := addVLAN(t, &p.A, "10.10.0.1/24")
	addVLAN(t, &p.B, "10.10.0.2/24")
	f := newFlow(t, openEnd(t, &p.A, tagged.Index), netip.MustParseAddr("10.10.0.2"))
	f.resolved()
	want := Answer{
		Kind: Unicast, NextHop: Hop{tagged.Index, f.q.Dst}, MAC: macOf(p.B), SrcMAC: macOf(p.A), VLAN: 10,
		Src: netip.MustParseAddr("10.10.0.1"), MTU: 1500, Gen: f.a.Gen,
	}
	if d := diff(want, f.a); d != "" {
		t.Error(d)
	}
	child := openEnd(t, &tagged)
	for _, dst := range []string{"239.1.1.1", "ff02::1", "255.255.255.255"} {
		a, err := child.Resolve(Query{Dst: netip.MustParseAddr(dst)})
		if err != nil || a.VLAN != 10 || a.NextHop.Ifindex != tagged.Index || !a.Kind.Direct() {
			t.Errorf("%s from the VLAN interface: got %+v, %v", dst, a, err)
		}
	}
}

// addVLAN puts a VLAN interface with tag 10 on an end, up, with an address.
func addVLAN(t *testing.T, e *testnet.End, addr string) testnet.End {
	t.Helper()
	vlan := testnet.End{NS: e.NS, Name: "vlan10", MAC: e.MAC}
	err := e.NS.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex = vlan.Name, e.Index
		link := &netlink.Vlan{LinkAttrs: attrs, VlanId: 10}
		err := netlink.LinkAdd(link)
		vlan.Index = link.Attrs().Index
		return err
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no VLAN interfaces (CONFIG_VLAN_8021Q); TestTag stands in")
	}
	must(t, err)
	must(t, vlan.AddAddr(netip.MustParsePrefix(addr)))
	must(t, vlan.SetUp(true))
	must(t, vlan.WaitUp())
	return vlan
}
