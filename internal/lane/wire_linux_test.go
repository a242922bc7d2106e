// SPDX-License-Identifier: MIT

package lane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// wire is what a sent datagram looks like on the link.
type wire struct {
	dstMAC       net.HardwareAddr
	src, dst     netip.Addr
	ttl, tos     uint8
	dontFragment bool
	fragment     bool // a part of a datagram
	payload      []byte
}

// tap sees the frames that reach an end.
type tap struct{ raw *testnet.Raw }

func openTap(t *testing.T, end testnet.End) tap {
	t.Helper()
	raw, err := testnet.OpenRaw(end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return tap{raw}
}

// next is the next UDP datagram on the link, other frames are passed over.
func (p tap) next(t *testing.T) wire {
	t.Helper()
	for {
		frame, err := p.raw.Receive(time.Now().Add(patience))
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := decode(frame); ok {
			return w
		}
	}
}

func decode(f []byte) (w wire, ok bool) {
	const eth = 14
	w.dstMAC = append(net.HardwareAddr(nil), f[:6]...)
	switch p := f[eth:]; {
	case binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IP && p[9] == unix.IPPROTO_UDP:
		w.src, w.dst = netip.AddrFrom4([4]byte(p[12:])), netip.AddrFrom4([4]byte(p[16:]))
		w.tos, w.ttl = p[1], p[8]
		bits := binary.BigEndian.Uint16(p[6:])
		w.dontFragment, w.fragment = bits&0x4000 != 0, bits&0x3fff != 0
		if !w.fragment {
			w.payload = append([]byte(nil), p[28:binary.BigEndian.Uint16(p[2:])]...)
		}
		return w, true
	case binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IPV6 && p[6] == unix.IPPROTO_UDP:
		w.src, w.dst = netip.AddrFrom16([16]byte(p[8:])), netip.AddrFrom16([16]byte(p[24:]))
		w.tos, w.ttl = p[0]<<4|p[1]>>4, p[7]
		w.payload = append([]byte(nil), p[48:40+binary.BigEndian.Uint16(p[4:])]...)
		return w, true
	}
	return w, false
}

// Each datagram of a batch leaves with its own TTL, TOS and source address.
func TestOutgoingFields(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	second4, second6 := netip.MustParseAddr("10.9.0.22"), netip.MustParseAddr("fd09::22")
	for _, addr := range []netip.Addr{second4, second6} {
		bits := map[bool]int{true: 24, false: 64}[addr.Is4()]
		if err := pair.B.AddAddr(netip.PrefixFrom(addr, bits)); err != nil {
			t.Fatal(err)
		}
	}
	p := openTap(t, pair.A)
	for _, local := range []string{"0.0.0.0:0", "[::]:0"} {
		l := openOn(t, pair.B, at(local))
		for _, to := range []struct{ dst, first, second netip.Addr }{
			{pair.A.IP4, pair.B.IP4, second4},
			{pair.A.IP6, second6, pair.B.IP6}, // the newest address is preferred
		} {
			if !l.ip6 && to.dst.Is6() {
				continue
			}
			dst := netip.AddrPortFrom(to.dst, 9)
			mapped := netip.AddrFrom16(to.second.As16())
			out := []Outgoing{
				{Payload: []byte("0"), Dst: dst},
				{Payload: []byte("1"), Dst: dst, TTL: 1, TOS: 0xff},
				{Payload: []byte("2"), Dst: dst, TTL: 255},
				{Payload: []byte("3"), Dst: dst, TOS: 0x2e, Src: to.second},
				{Payload: []byte("4"), Dst: dst, Src: mapped, Ifindex: pair.B.Index},
				{Payload: []byte("5"), Dst: dst, Ifindex: pair.B.Index},
			}
			sendAll(t, l, out...)
			want := []wire{
				{ttl: 64}, {ttl: 1, tos: 0xff}, {ttl: 255},
				{src: to.second, ttl: 64, tos: 0x2e}, {src: to.second, ttl: 64}, {ttl: 64},
			}
			for i, want := range want {
				w := p.next(t)
				if !want.src.IsValid() && w.src == to.first {
					want.src = to.first // the kernel's choice
				}
				if w.src != want.src || w.dst != to.dst || w.ttl != want.ttl || w.tos != want.tos || string(w.payload) != string(out[i].Payload) {
					t.Errorf("%v, datagram %d: %+v, want %+v", local, i, w, want)
				}
			}
		}
	}
}

// The interface can be chosen against the routes.
func TestOutgoingInterface(t *testing.T) {
	testnet.Require(t)
	chain, err := testnet.NewChain(testnet.Config{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	pa, pc := openTap(t, chain.A), openTap(t, chain.C)
	l := openOn(t, chain.BA, at("[::]:0"))
	for _, group := range []string{"239.1.2.3:9", "[ff15::9]:9"} {
		dst := netip.MustParseAddrPort(group)
		sendAll(t, l,
			Outgoing{Payload: []byte("to A"), Dst: dst, Ifindex: chain.BA.Index},
			Outgoing{Payload: []byte("to C"), Dst: dst, Ifindex: chain.BC.Index})
		if w := pa.next(t); string(w.payload) != "to A" || w.dst != dst.Addr() {
			t.Errorf("at A: %+v", w)
		}
		if w := pc.next(t); string(w.payload) != "to C" || w.dst != dst.Addr() {
			t.Errorf("at C: %+v", w)
		}
		if err := l.SetMulticastInterface(chain.BC.Index); err != nil {
			t.Fatal(err)
		}
		sendAll(t, l, Outgoing{Payload: []byte("set"), Dst: dst})
		if w := pc.next(t); string(w.payload) != "set" {
			t.Errorf("at C: %+v", w)
		}
	}
}

// fragmentation is a policy and what it does.
type fragmentation struct {
	name     string
	set      bool // else the default
	policy   DontFragment
	df       bool // what fits may not be fragmented by routers
	tooLarge error
}

// Case 81: the policies for what is larger than the MTU.
func TestDontFragment(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	p := openTap(t, pair.A)
	for _, x := range []fragmentation{
		{"default", false, 0, true, nil},
		{"larger", true, FragmentLarger, true, nil},
		{"anywhere", true, FragmentAnywhere, false, nil},
		{"never", true, FragmentNever, true, unix.EMSGSIZE},
		{"probe", true, FragmentProbe, true, unix.EMSGSIZE},
	} {
		for _, local := range []string{"10.9.0.2:0", "[::]:0"} {
			t.Run(fmt.Sprint(x.name, " ", local), func(t *testing.T) {
				l := openOn(t, pair.B, at(local))
				if x.set {
					if err := l.SetDontFragment(x.policy); err != nil {
						t.Fatal(err)
					}
				}
				x.check(t, l, p)
			})
		}
	}
	if err := openOn(t, pair.B, Config{}).SetDontFragment(4); err == nil {
		t.Error("policy 4 accepted")
	}
}

func (x fragmentation) check(t *testing.T, l *Lane, p tap) {
	t.Helper()
	dst := netip.MustParseAddrPort("10.9.0.1:9")
	sendAll(t, l, Outgoing{Payload: pattern(1472), Dst: dst})
	if w := p.next(t); w.dontFragment != x.df || w.fragment {
		t.Errorf("1472 bytes: DF %t, fragment %t", w.dontFragment, w.fragment)
	}
	n, err := l.Send([]Outgoing{{Payload: pattern(1473), Dst: dst}})
	if !errors.Is(err, x.tooLarge) || (n == 1) != (x.tooLarge == nil) {
		t.Fatalf("1473 bytes: %d, %v", n, err)
	}
	if n == 1 {
		first, second := p.next(t), p.next(t)
		if !first.fragment || !second.fragment || first.dontFragment {
			t.Errorf("not fragmented: %+v, %+v", first, second)
		}
	}
	if !l.ip6 {
		return
	}
	// The same for IPv6, where only the sender fragments.
	n, err = l.Send([]Outgoing{{Payload: pattern(1453), Dst: netip.MustParseAddrPort("[fd09::1]:9")}})
	if !errors.Is(err, x.tooLarge) || (n == 1) != (x.tooLarge == nil) {
		t.Errorf("1453 bytes by IPv6: %d, %v", n, err)
	}
}

// The default is that of package net.
func TestDontFragmentLikeNet(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	p := openTap(t, pair.A)
	c := peerOn(t, pair.B, "udp4", "10.9.0.2:0")
	dst := netip.MustParseAddrPort("10.9.0.1:9")
	writeTo(t, c, dst, pattern(1472))
	if w := p.next(t); !w.dontFragment || w.fragment {
		t.Errorf("1472 bytes: %+v", w)
	}
	writeTo(t, c, dst, pattern(1473))
	if first := p.next(t); !first.fragment || first.dontFragment {
		t.Errorf("1473 bytes: %+v", first)
	}
}

// Unsent datagrams are seen while the neighbour is not resolved, and are gone when
// it is: what goes another way then cannot overtake them.
func TestUnsent(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	p := openTap(t, pair.A)
	l := openOn(t, pair.B, at("10.9.0.2:0"))
	if n, err := l.Unsent(); n != 0 || err != nil {
		t.Errorf("fresh: %d, %v", n, err)
	}
	dst := netip.MustParseAddrPort("10.9.0.77:9") // nobody, yet
	for i := range 3 {
		sendAll(t, l, Outgoing{Payload: []byte{byte(i)}, Dst: dst})
	}
	if n, err := l.Unsent(); n <= 0 || err != nil {
		t.Errorf("unresolved: %d, %v", n, err)
	}
	if err := pair.B.AddNeigh(dst.Addr(), pair.A.MAC); err != nil {
		t.Fatal(err)
	}
	until(t, "queue empty", func() bool {
		n, err := l.Unsent()
		return n == 0 && err == nil
	})
	for i := range 3 {
		if w := p.next(t); len(w.payload) != 1 || w.payload[0] != byte(i) {
			t.Errorf("datagram %d: %+v", i, w)
		}
	}
	l.Close()
	if _, err := l.Unsent(); err != net.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
