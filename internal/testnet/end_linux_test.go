// SPDX-License-Identifier: MIT

package testnet

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// attrs reads the interface by the kernel, not from what End remembers.
func attrs(t *testing.T, e *End) *netlink.LinkAttrs {
	t.Helper()
	link, err := e.link()
	if err != nil {
		t.Fatal(err)
	}
	return link.Attrs()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEndChanges(t *testing.T) {
	p := TestPair(t, Config{})
	b := &p.B
	must(t, b.SetMTU(2000))
	must(t, b.SetMAC(net.HardwareAddr{2, 0, 0, 0, 0, 9}))
	must(t, b.SetPromiscuous(true))
	must(t, b.Rename("renamed"))
	got := attrs(t, b)
	if got.MTU != 2000 || got.Name != "renamed" || b.Name != "renamed" || got.Promisc != 1 {
		t.Errorf("got %+v", got)
	}
	if !bytes.Equal(got.HardwareAddr, b.MAC) || b.MAC[5] != 9 {
		t.Errorf("got address %v, the End says %v", got.HardwareAddr, b.MAC)
	}
	if mtu := attrs(t, &p.A).MTU; mtu != 1500 {
		t.Errorf("MTU of the other end: got %d, want 1500", mtu)
	}
	must(t, b.SetUp(false))
	if flags := attrs(t, &p.A).RawFlags; flags&unix.IFF_LOWER_UP != 0 {
		t.Errorf("end A has carrier, flags %#x, though end B is down", flags)
	}
	must(t, b.SetUp(true))
	must(t, b.WaitUp())
	must(t, p.A.WaitUp())
	exchange(t, p.A.NS, p.A.IP4.AsSlice(), p.B.NS, p.B.IP4.AsSlice())
}

func TestAddressesAndNeighbours(t *testing.T) {
	p := TestPair(t, Config{IPv6: true})
	for _, s := range []string{"10.9.0.77/24", "fd09::77/64"} {
		extra := netip.MustParsePrefix(s)
		must(t, p.B.AddAddr(extra))
		exchange(t, p.A.NS, nil, p.B.NS, extra.Addr().AsSlice())
		must(t, p.B.DelAddr(extra))
		if err := p.B.DelAddr(extra); !errors.Is(err, unix.EADDRNOTAVAIL) {
			t.Errorf("second removal of %s: got %v, want EADDRNOTAVAIL", s, err)
		}
		must(t, p.A.AddNeigh(extra.Addr(), p.B.MAC))
		if n := neighbours(t, &p.A); n == 0 {
			t.Error("neighbour was not added")
		}
		must(t, p.A.DelNeigh(extra.Addr()))
		must(t, p.A.AddNeigh(extra.Addr(), p.B.MAC))
		must(t, p.A.FlushNeigh())
		if n := neighbours(t, &p.A); n != 0 {
			t.Errorf("%d neighbours left after flush", n)
		}
	}
}

// neighbours counts those that FlushNeigh removes.
func neighbours(t *testing.T, e *End) (n int) {
	t.Helper()
	must(t, e.NS.route(func(h *netlink.Handle) error {
		list, err := h.NeighList(e.Index, netlink.FAMILY_ALL)
		for _, neigh := range list {
			if neigh.State != netlink.NUD_NOARP {
				n++
			}
		}
		return err
	}))
	return n
}

func TestQueues(t *testing.T) {
	for _, queues := range []int{1, 2, 8, 20} {
		p := TestPair(t, Config{Queues: queues})
		for _, e := range []*End{&p.A, &p.B} {
			if got := channels(t, e); got.RxCount != uint32(queues) || got.TxCount != uint32(queues) {
				t.Errorf("made with %d queues, got %+v", queues, got)
			}
		}
		must(t, p.B.SetQueues(3))
		must(t, p.B.SetQueues(3))
		if got := channels(t, &p.B); got.RxCount != 3 || got.TxCount != 3 {
			t.Errorf("set to 3 queues, got %+v", got)
		}
		if err := p.B.SetQueues(1000); !errors.Is(err, unix.EINVAL) {
			t.Errorf("1000 queues: got %v, want EINVAL", err)
		}
	}
}

func channels(t *testing.T, e *End) (ch ethtool.Channels) {
	t.Helper()
	must(t, e.ethtool("read queues of", func(et *ethtool.Ethtool, name string) (err error) {
		ch, err = et.GetChannels(name)
		return err
	}))
	return ch
}

func TestOffload(t *testing.T) {
	p := TestPair(t, Config{})
	for _, name := range []string{OffloadUDPSplit, OffloadGSO, OffloadGRO, OffloadChecksum} {
		for _, on := range []bool{false, true, false} {
			if err := p.A.SetOffload(name, on); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.A.SetOffload("no-such-offload", true); err == nil {
		t.Error("an unknown offload was accepted")
	}
	// loopback's checksum offload is fixed, and the kernel says nothing about it.
	lo := End{NS: p.A.NS, Name: "lo", Index: 1}
	if err := lo.SetOffload("loopback", false); err == nil {
		t.Error("a fixed feature was switched")
	}
}

func TestMoveAndDelete(t *testing.T) {
	p := TestPair(t, Config{})
	other := newTestNS(t)
	name := p.B.Name
	must(t, p.B.Move(other))
	if p.B.NS != other || attrs(t, &p.B).Name != name {
		t.Errorf("moved end: %+v", p.B)
	}
	must(t, p.B.AddAddr(netip.PrefixFrom(p.B.IP4, 24)))
	must(t, p.B.SetUp(true))
	must(t, p.B.WaitUp())
	exchange(t, p.A.NS, p.A.IP4.AsSlice(), other, p.B.IP4.AsSlice())
	must(t, p.A.Delete())
	for _, e := range []*End{&p.A, &p.B} {
		if _, err := e.link(); !isGone(err) {
			t.Errorf("%s after delete: got %v", e.Name, err)
		}
		if err := e.SetUp(true); !errors.Is(err, unix.ENODEV) {
			t.Errorf("change of %s after delete: got %v, want ENODEV", e.Name, err)
		}
	}
	must(t, p.Close())
	must(t, p.Close())
}

func TestMacvlan(t *testing.T) {
	p := TestPair(t, Config{})
	addr := netip.MustParsePrefix("10.9.0.3/24")
	mv, err := p.B.AddMacvlan(addr)
	must(t, err)
	if got := attrs(t, &mv); got.ParentIndex != p.B.Index || !bytes.Equal(got.HardwareAddr, mv.MAC) {
		t.Errorf("got %+v over %d", got, p.B.Index)
	}
	exchange(t, p.A.NS, nil, p.B.NS, mv.IP4.AsSlice())
}

func TestChain(t *testing.T) {
	Require(t)
	Leaks(t)
	c, err := NewChain(Config{IPv6: true})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	exchange(t, c.A.NS, c.A.IP4.AsSlice(), c.C.NS, c.C.IP4.AsSlice())
	exchange(t, c.C.NS, c.C.IP6.AsSlice(), c.A.NS, c.A.IP6.AsSlice())
	exchange(t, c.A.NS, nil, c.BC.NS, c.BC.IP4.AsSlice())
}
