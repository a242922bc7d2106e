// SPDX-License-Identifier: MIT

package lane

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// segmentsArrive reads what payload was cut into, and holds it against it.
func segmentsArrive(t *testing.T, c *net.UDPConn, payload []byte, size int) {
	t.Helper()
	for i := range pieces(len(payload), size) {
		want := payload[i*size : min((i+1)*size, len(payload))]
		if p, _ := readFrom(t, c); !bytes.Equal(p, want) {
			t.Fatalf("datagram %d: %d bytes, want %d, or other ones", i, len(p), len(want))
		}
	}
}

// Case 122 and others: shapes of what is cut into datagrams.
func TestSendSegments(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, x := range []struct{ name, local, network, peer string }{
		{"IPv4", "10.9.0.2:0", "udp4", "10.9.0.1:0"},
		{"dual stack by IPv4", "[::]:0", "udp4", "10.9.0.1:0"},
		{"dual stack by IPv6", "[::]:0", "udp6", "[fd09::1]:0"},
	} {
		t.Run(x.name, func(t *testing.T) {
			l := openOn(t, pair.B, at(x.local))
			c := peerOn(t, pair.A, x.network, x.peer)
			if err := c.SetReadBuffer(4 << 20); err != nil {
				t.Fatal(err)
			}
			bundles, sent := uint64(0), 0
			for _, s := range []struct {
				length, size int
				bundles      uint64
			}{
				{0, 1000, 0}, {1, 1000, 0}, {999, 1000, 0}, {1000, 1000, 0},
				{1001, 1000, 1}, {3001, 1000, 1}, {10000, 1000, 1},
				{64 * 100, 100, 1}, {65 * 100, 100, 1}, {66 * 100, 100, 2}, {129 * 100, 100, 2},
				{200000, 1400, 4}, // above the largest packet
				{100, 1, 2}, {100, 1 << 62 >> 32, 0},
			} {
				payload := pattern(s.length)
				n, err := l.SendSegments(Outgoing{Payload: payload, Dst: addrOf(c)}, s.size)
				if want := pieces(s.length, s.size); n != want || err != nil {
					t.Fatalf("%d by %d: sent %d of %d: %v", s.length, s.size, n, want, err)
				}
				segmentsArrive(t, c, payload, s.size)
				sent += n
				bundles += s.bundles
				if got := l.Stats(); got.SentBundles != bundles || got.Sent != uint64(sent) || got.SendErrors != 0 {
					t.Errorf("%d by %d: %d bundles, want %d: %+v", s.length, s.size, got.SentBundles, bundles, got)
				}
			}
			if gso := l.Info().GSO; !gso.On || gso.Note != "" {
				t.Errorf("%+v", gso)
			}
		})
	}
}

// Case 119: the kernel refuses a bundle, here of more segments than it makes. All
// goes out plain, once for good, and it is said.
func TestSegmentsRefused(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("10.9.0.2:0"))
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	l.out.maxSegments = 200
	payload := pattern(129 * 100)
	to := Outgoing{Payload: payload, Dst: addrOf(c)}
	for round := range 2 {
		if n, err := l.SendSegments(to, 100); n != 129 || err != nil {
			t.Fatalf("sent %d: %v", n, err)
		}
		segmentsArrive(t, c, payload, 100)
		gso := l.Info().GSO
		if gso.On || !strings.Contains(gso.Note, "129 datagrams of 100 bytes: invalid argument") {
			t.Errorf("round %d: %+v", round, gso)
		}
	}
	if s := l.Stats(); s.Sent != 258 || s.SentBytes != 2*129*100 || s.SentBundles != 0 || s.SendErrors != 0 {
		t.Errorf("%+v", s)
	}
}

func TestRefusesBundle(t *testing.T) {
	for _, err := range []error{unix.EINVAL, unix.EIO, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.ENOPROTOOPT, unix.Errno(524)} {
		if !refusesBundle(err) {
			t.Errorf("%v: not taken for a refusal", err)
		}
	}
	for _, err := range []error{unix.EAGAIN, unix.ENETUNREACH, unix.ECONNREFUSED, unix.EACCES, unix.EPERM, nil} {
		if refusesBundle(err) {
			t.Errorf("%v: taken for a refusal", err)
		}
	}
}

// Case 120: segments above the MTU. The kernel makes no bundle of them, and fragments
// them as datagrams; where fragments are forbidden, that is the error, once.
func TestSegmentsAboveMTU(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{MTU: 1280})
	l := openOn(t, pair.B, at("10.9.0.2:0"))
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	to := Outgoing{Payload: pattern(14200), Dst: addrOf(c)}
	if n, err := l.SendSegments(to, 1420); n != 10 || err != nil {
		t.Fatalf("sent %d: %v", n, err)
	}
	segmentsArrive(t, c, to.Payload, 1420)
	if err := l.SetDontFragment(FragmentNever); err != nil {
		t.Fatal(err)
	}
	if n, err := l.SendSegments(to, 1420); n != 0 || err != unix.EMSGSIZE {
		t.Errorf("sent %d: %v", n, err)
	}
	// For others, bundles go on.
	if n, err := l.SendSegments(to, 1200); n != 12 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	segmentsArrive(t, c, to.Payload, 1200)
	if s := l.Stats(); !l.Info().GSO.On || s.SentBundles != 1 || s.SendErrors != 1 {
		t.Errorf("%+v, %+v", l.Info().GSO, s)
	}
}

// An error that is about the destination is told, and bundles go on.
func TestSegmentsErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("0.0.0.0:0"))
	payload := pattern(3000)
	for _, c := range []struct {
		name  string
		out   Outgoing
		size  int
		errno error
	}{
		{"no route", Outgoing{Payload: payload, Dst: netip.MustParseAddrPort("192.0.2.1:9")}, 1000, unix.ENETUNREACH},
		{"port 0", Outgoing{Payload: payload, Dst: netip.MustParseAddrPort("10.9.0.1:0")}, 1000, unix.EINVAL},
		{"source", Outgoing{Payload: payload, Dst: netip.MustParseAddrPort("10.9.0.1:9"), Src: netip.MustParseAddr("::1")}, 1000, unix.EINVAL},
		{"size 0", Outgoing{Payload: payload, Dst: netip.MustParseAddrPort("10.9.0.1:9")}, 0, unix.EINVAL},
		{"size -1", Outgoing{Payload: payload, Dst: netip.MustParseAddrPort("10.9.0.1:9")}, -1, unix.EINVAL},
		{"datagrams too large", Outgoing{Payload: pattern(200000), Dst: netip.MustParseAddrPort("10.9.0.1:9")}, 100000, unix.EMSGSIZE},
	} {
		if n, err := l.SendSegments(c.out, c.size); n != 0 || err != c.errno {
			t.Errorf("%s: sent %d, %v, want %v", c.name, n, err, c.errno)
		}
	}
	if !l.Info().GSO.On {
		t.Errorf("%+v", l.Info().GSO)
	}
}

// bundler makes a socket of package net send each write as datagrams of size bytes.
func bundler(t *testing.T, c *net.UDPConn, size int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var optErr error
	err = raw.Control(func(fd uintptr) {
		optErr = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size)
	})
	if err := errors.Join(err, optErr); err != nil {
		t.Fatal(err)
	}
}

// Case 121: a bundle comes out as the datagrams it is made of, each with all it has,
// and datagrams are counted, not reads. Without GRO the kernel takes it apart.
func TestBundles(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, x := range []struct{ name, local, network, peer, to string }{
		{"IPv4", "10.9.0.2:0", "udp4", "10.9.0.1:0", "10.9.0.2"},
		{"dual stack by IPv4", "[::]:0", "udp4", "10.9.0.1:0", "10.9.0.2"},
		{"dual stack by IPv6", "[::]:0", "udp6", "[fd09::1]:0", "fd09::2"},
	} {
		for _, gro := range []bool{true, false} {
			t.Run(x.name+map[bool]string{true: " with GRO", false: " without"}[gro], func(t *testing.T) {
				cfg := at(x.local)
				cfg.GRO = gro
				l := openOn(t, pair.B, cfg)
				c := peerOn(t, pair.A, x.network, x.peer)
				setHeader(t, x.network, c)
				dst := netip.AddrPortFrom(netip.MustParseAddr(x.to), l.LocalAddr().Port())
				if info := l.Info().GRO; info.On != gro || (info.Note == "") != gro {
					t.Errorf("%+v", info)
				}
				datagrams := 0
				for _, s := range []struct{ length, size int }{{10000, 1000}, {3001, 1000}, {1000, 1000}, {999, 1000}, {1001, 1000}, {64 * 20, 20}, {60000, 1400}} {
					bundler(t, c, s.size)
					payload := pattern(s.length)
					writeTo(t, c, dst, payload)
					msgs := collect(t, l, pieces(s.length, s.size))
					for i, m := range msgs {
						want := payload[i*s.size : min((i+1)*s.size, s.length)]
						if !bytes.Equal(m.Payload, want) || m.Truncated {
							t.Errorf("%v, datagram %d: %d bytes", s, i, len(m.Payload))
						}
						if m.Src != addrOf(c) || m.Dst != dst || m.TTL != 33 || m.TOS != 0x28 || m.Ifindex != pair.B.Index {
							t.Errorf("%v, datagram %d: %+v", s, i, m)
						}
					}
					l.Release(msgs)
					datagrams += len(msgs)
				}
				nothing(t, l)
				s := l.Stats()
				if s.Received != uint64(datagrams) || s.Truncated != 0 || s.BadReleases != 0 {
					t.Errorf("%d datagrams: %+v", datagrams, s)
				}
				if want := map[bool]uint64{true: 5}[gro]; s.Bundles != want {
					t.Errorf("%d bundles, want %d", s.Bundles, want)
				}
			})
		}
	}
}

// A bundle larger than the caller's room goes on at the next call; meanwhile Pending
// tells what poll cannot.
func TestBundleInParts(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.GRO, cfg.Buffers = true, 1
	l := openOn(t, pair.B, cfg)
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	bundler(t, c, 10)
	writeTo(t, c, l.LocalAddr(), []byte("aaaaaaaaaabbbbbbbbbbcccccccccc."))
	msgs := collect(t, l, 1)
	if l.Pending() != 3 {
		t.Errorf("%d pending, want 3", l.Pending())
	}
	fds := []unix.PollFd{{Fd: int32(l.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n != 0 || err != nil {
		t.Errorf("poll: %d, %v", n, err)
	}
	rest := make([]Message, 9)
	n, err := l.Receive(rest)
	if n != 3 || err != nil || l.Pending() != 0 {
		t.Fatalf("received %d, %v, %d pending", n, err, l.Pending())
	}
	var text []string
	for _, m := range append(msgs[:1:1], rest[:n]...) {
		text = append(text, string(m.Payload[:1]))
	}
	if got := strings.Join(text, ""); got != "abc." {
		t.Errorf("received %q", got)
	}
	l.Release(rest[1:n])
	l.Release(msgs)
	writeTo(t, c, l.LocalAddr(), []byte("next"))
	until(t, "no buffer", func() bool {
		_, err := l.Receive(rest[5:])
		return err == ErrNoBuffers
	})
	l.Release(rest[:1]) // the last piece frees the only buffer
	last := collect(t, l, 1)
	if string(last[0].Payload) != "next" {
		t.Errorf("received %q", last[0].Payload)
	}
	l.Release(last)
}
