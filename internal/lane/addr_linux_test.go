// SPDX-License-Identifier: MIT

package lane

import (
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// The zone of a received address follows when its interface is renamed, and an
// address with the new name is found.
func TestZoneFollowsRename(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	to := linkLocal(t, pair.B)
	l := openOn(t, pair.B, at("[::]:0"))
	c := peerOn(t, pair.A, "udp6", "["+linkLocal(t, pair.A).String()+"]:0")
	dst := netip.AddrPortFrom(to.WithZone(pair.A.Name), l.LocalAddr().Port())
	src := func() netip.AddrPort {
		writeTo(t, c, dst, []byte("?"))
		msgs := collect(t, l, 1)
		defer l.Release(msgs)
		if msgs[0].Src.Addr().Zone() != msgs[0].Dst.Addr().Zone() {
			t.Errorf("from %v to %v", msgs[0].Src, msgs[0].Dst)
		}
		return msgs[0].Src
	}
	if zone := src().Addr().Zone(); zone != pair.B.Name {
		t.Errorf("zone %q, want %q", zone, pair.B.Name)
	}
	if err := pair.B.Rename("xprenamed"); err != nil {
		t.Fatal(err)
	}
	until(t, "new name", func() bool { return src().Addr().Zone() == "xprenamed" })
	sendAll(t, l, Outgoing{Payload: []byte("!"), Dst: src()})
	if p, _ := readFrom(t, c); string(p) != "!" {
		t.Errorf("received %q", p)
	}
}

// Zones by name, by number, and of no interface; what is kept of them is bounded.
func TestZones(t *testing.T) {
	fd, err := udpSocket(false)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var z zones
	for zone, want := range map[string]uint32{"": 0, "lo": 1, "1": 1, "77": 77, "nosuch": 0, "-1": 0, "a name that is far too long": 0} {
		for range 2 {
			if got := z.index(fd, zone); got != want {
				t.Errorf("zone %q is interface %d, want %d", zone, got, want)
			}
		}
	}
	addr := netip.MustParseAddr("fe80::1")
	for range 2 {
		if got := z.with(fd, addr, 1).String(); got != "fe80::1%lo" {
			t.Error(got)
		}
		if got := z.with(fd, addr, 1<<30).String(); got != "fe80::1%1073741824" {
			t.Error(got)
		}
	}
	for i := range 1000 {
		z.index(fd, strconv.Itoa(i))
		z.with(fd, addr, uint32(1<<20+i))
	}
	if len(z.names) > maxZones || len(z.indexes) > maxZones {
		t.Errorf("%d names and %d numbers kept", len(z.names), len(z.indexes))
	}
}

// IPv6Only leaves the port to an IPv4 socket.
func TestIPv6Only(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	six := openOn(t, pair.B, Config{Local: netip.MustParseAddrPort("[::]:5000"), IPv6Only: true})
	four := openOn(t, pair.B, at("0.0.0.0:5000"))
	c := peerOn(t, pair.A, "udp", ":0")
	for _, x := range []struct {
		to netip.Addr
		at *Lane
	}{{pair.B.IP4, four}, {pair.B.IP6, six}} {
		writeTo(t, c, netip.AddrPortFrom(x.to, 5000), []byte("x"))
		msgs := collect(t, x.at, 1)
		if msgs[0].Dst.Addr() != x.to {
			t.Errorf("came to %v", msgs[0].Dst)
		}
		x.at.Release(msgs)
	}
	nothing(t, four)
	nothing(t, six)
	if n, err := six.Send([]Outgoing{{Dst: netip.MustParseAddrPort("10.9.0.1:9")}}); n != 0 || err != unix.ENETUNREACH {
		t.Errorf("IPv4 from an IPv6 socket: %d, %v", n, err)
	}
}
