// SPDX-License-Identifier: MIT

package lane

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/xdpath/xdpath/internal/testnet"
)

// exchange is one pair of addresses: a lane on end B, a peer of package net on A.
type exchange struct {
	name    string
	lane    Config
	to      netip.Addr // of the lane, as the peer writes it
	network string
	peer    string
	largest int
}

func exchanges(t *testing.T, pair *testnet.Pair) []exchange {
	localA, localB := linkLocal(t, pair.A), linkLocal(t, pair.B)
	on := func(addr netip.Addr) Config { return Config{Local: netip.AddrPortFrom(addr, 0)} }
	const largest4, largest6 = 65507, 65527
	peer6 := fmt.Sprintf("[%v]:0", localA)
	return []exchange{
		{"IPv4 address", on(pair.B.IP4), pair.B.IP4, "udp4", "10.9.0.1:0", largest4},
		{"IPv4 any", on(netip.IPv4Unspecified()), pair.B.IP4, "udp4", "10.9.0.1:0", largest4},
		{"IPv6 address", on(pair.B.IP6), pair.B.IP6, "udp6", "[fd09::1]:0", largest6},
		{"IPv6 only", Config{Local: netip.MustParseAddrPort("[::]:0"), IPv6Only: true}, pair.B.IP6, "udp6", "[fd09::1]:0", largest6},
		{"dual stack by IPv4", on(netip.IPv6Unspecified()), pair.B.IP4, "udp4", "10.9.0.1:0", largest4},
		{"dual stack by IPv6", on(netip.IPv6Unspecified()), pair.B.IP6, "udp6", "[fd09::1]:0", largest6},
		{"zero Config by IPv4", Config{}, pair.B.IP4, "udp4", "10.9.0.1:0", largest4},
		{"zero Config by IPv6", Config{}, pair.B.IP6, "udp6", "[fd09::1]:0", largest6},
		{"mapped IPv4 address", on(netip.MustParseAddr("::ffff:10.9.0.2")), pair.B.IP4, "udp4", "10.9.0.1:0", largest4},
		{"link-local address", on(localB), localB.WithZone(pair.A.Name), "udp6", peer6, largest6},
		{"dual stack by link-local", on(netip.IPv6Unspecified()), localB.WithZone(pair.A.Name), "udp6", peer6, largest6},
	}
}

// Cases 74 and 81: what a datagram says of itself is right in both directions, for
// every family and size. Over the MTU of 1500 the kernel fragments and reassembles.
func TestExchange(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, x := range exchanges(t, pair) {
		t.Run(x.name, func(t *testing.T) {
			x.lane.Timestamps = true
			l := openOn(t, pair.B, x.lane)
			c := peerOn(t, pair.A, x.network, x.peer)
			ttl, tos := setHeader(t, x.network, c)
			for _, size := range []int{0, 1, 64, 1452, 1472, 1473, 9000, x.largest} {
				payload := pattern(size)
				writeTo(t, c, netip.AddrPortFrom(x.to, l.LocalAddr().Port()), payload)
				msgs := collect(t, l, 1)
				m := msgs[0]
				x.check(t, pair, l, c, &m)
				if !bytes.Equal(m.Payload, payload) || m.Payload == nil {
					t.Errorf("%d bytes: received %d, or other ones", size, len(m.Payload))
				}
				if m.TTL != ttl || m.TOS != tos {
					t.Errorf("%d bytes: TTL %d, TOS %#x, want %d, %#x", size, m.TTL, m.TOS, ttl, tos)
				}
				sendAll(t, l, Outgoing{Payload: m.Payload, Dst: m.Src})
				l.Release(msgs)
				back, from := readFrom(t, c)
				if !bytes.Equal(back, payload) {
					t.Errorf("%d bytes: %d came back, or other ones", size, len(back))
				}
				if want := netip.AddrPortFrom(x.to, l.LocalAddr().Port()); from != want {
					t.Errorf("came back from %v, want %v", from, want)
				}
			}
			nothing(t, l)
		})
	}
}

// setHeader makes the peer send with a TTL and TOS that are not the defaults.
func setHeader(t *testing.T, network string, c *net.UDPConn) (ttl, tos uint8) {
	t.Helper()
	ttl, tos = 33, 0x28
	var errs [2]error
	if network == "udp4" {
		p := ipv4.NewPacketConn(c)
		errs = [...]error{p.SetTTL(int(ttl)), p.SetTOS(int(tos))}
	} else {
		p := ipv6.NewPacketConn(c)
		errs = [...]error{p.SetHopLimit(int(ttl)), p.SetTrafficClass(int(tos))}
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return ttl, tos
}

func (x *exchange) check(t *testing.T, pair *testnet.Pair, l *Lane, c *net.UDPConn, m *Message) {
	t.Helper()
	src := addrOf(c)
	dst := netip.AddrPortFrom(x.to, l.LocalAddr().Port())
	if x.to.Zone() != "" {
		// On the lane's side the zone is the name of the lane's interface.
		src = netip.AddrPortFrom(src.Addr().WithZone(pair.B.Name), src.Port())
		dst = netip.AddrPortFrom(x.to.WithZone(pair.B.Name), dst.Port())
	}
	if m.Src != src || m.Dst != dst {
		t.Errorf("from %v to %v, want %v to %v", m.Src, m.Dst, src, dst)
	}
	if m.Ifindex != pair.B.Index {
		t.Errorf("interface %d, want %d", m.Ifindex, pair.B.Index)
	}
	if m.Truncated {
		t.Error("truncated")
	}
	if age := time.Since(m.Received); age < 0 || age > patience {
		t.Errorf("received %v ago", age)
	}
}

// Case 74: ports and addresses that look like others with their bytes swapped.
func TestByteOrder(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	if err := pair.A.AddAddr(netip.MustParsePrefix("10.9.1.0/16")); err != nil {
		t.Fatal(err)
	}
	l := openOn(t, pair.B, at("10.9.0.2:5000"))
	for _, from := range []string{"10.9.0.1:4660", "10.9.0.1:13330", "10.9.1.0:4660"} {
		c := peerOn(t, pair.A, "udp4", from)
		writeTo(t, c, l.LocalAddr(), []byte("?"))
		msgs := collect(t, l, 1)
		if got := msgs[0].Src.String(); got != from {
			t.Errorf("from %v, want %v", got, from)
		}
		if from != "10.9.1.0:4660" { // B has no way back to that one
			sendAll(t, l, Outgoing{Payload: []byte("!"), Dst: msgs[0].Src})
			if _, back := readFrom(t, c); back != l.LocalAddr() {
				t.Errorf("answer from %v", back)
			}
		}
		l.Release(msgs)
	}
}

// A buffer smaller than the datagram: what fits comes, marked, and is counted; the
// next datagram is whole.
func TestTruncation(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.BufferSize = 100
	l := openOn(t, pair.B, cfg)
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	for _, size := range []int{100, 101, 20000, 99} {
		writeTo(t, c, l.LocalAddr(), pattern(size))
	}
	msgs := collect(t, l, 4)
	for i, want := range []struct {
		length int
		cut    bool
	}{{100, false}, {100, true}, {100, true}, {99, false}} {
		if m := msgs[i]; len(m.Payload) != want.length || m.Truncated != want.cut || !bytes.Equal(m.Payload, pattern(want.length)) {
			t.Errorf("datagram %d: %d bytes, truncated %t", i, len(m.Payload), m.Truncated)
		}
	}
	l.Release(msgs)
	if s := l.Stats(); s.Truncated != 2 || s.Received != 4 || s.ReceivedBytes != 399 {
		t.Errorf("%+v", s)
	}
}

// Messages are their owner's until they are released; then Receive goes on.
func TestNoBuffers(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.Buffers = 2
	l := openOn(t, pair.B, cfg)
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	for _, text := range []string{"a", "b", "c"} {
		writeTo(t, c, l.LocalAddr(), []byte(text))
	}
	held := collect(t, l, 2)
	one := make([]Message, 1)
	if n, err := l.Receive(one); n != 0 || err != ErrNoBuffers {
		t.Errorf("received %d, %v, want %v", n, err, ErrNoBuffers)
	}
	if string(held[0].Payload)+string(held[1].Payload) != "ab" {
		t.Errorf("held payloads are %q, %q", held[0].Payload, held[1].Payload)
	}
	l.Release(held[:1])
	third := collect(t, l, 1)
	if string(third[0].Payload) != "c" || string(held[1].Payload) != "b" {
		t.Errorf("payloads are %q, %q", third[0].Payload, held[1].Payload)
	}
	l.Release(held)
	l.Release(third)
	if s := l.Stats(); s.NoBuffers != 1 || s.ReceiveErrors != 0 || s.BadReleases != 0 {
		t.Errorf("%+v", s)
	}
}
