// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Each refusal is the errno that net.UDPConn gets for the same datagram.
func TestSendErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	sockets := map[string]struct {
		lane *Lane
		conn *net.UDPConn
	}{
		"IPv4": {openOn(t, pair.B, at("10.9.0.2:0")), peerOn(t, pair.B, "udp4", "10.9.0.2:0")},
		"IPv6": {openOn(t, pair.B, at("[fd09::2]:0")), peerOn(t, pair.B, "udp6", "[fd09::2]:0")},
		"both": {openOn(t, pair.B, at("[::]:0")), peerOn(t, pair.B, "udp", ":0")},
	}
	for _, c := range []struct {
		name, socket string
		dst          string
		size         int
		errno        error
	}{
		{"fits", "IPv4", "10.9.0.1:9", 65507, nil},
		{"larger than any datagram", "IPv4", "10.9.0.1:9", 65508, unix.EMSGSIZE},
		{"larger than any datagram", "both", "10.9.0.1:9", 65508, unix.EMSGSIZE},
		{"larger than any datagram", "IPv6", "[fd09::1]:9", 65528, unix.EMSGSIZE},
		{"far larger", "IPv4", "10.9.0.1:9", 1 << 17, unix.EMSGSIZE},
		{"no route", "IPv4", "192.0.2.1:9", 1, unix.ENETUNREACH},
		{"no route", "both", "192.0.2.1:9", 1, unix.ENETUNREACH},
		{"no route", "both", "[2001:db8::1]:9", 1, unix.ENETUNREACH},
		// The kernel takes the first interface that has a route.
		{"link-local without a zone", "both", "[fe80::1]:9", 1, nil},
		{"unknown zone", "both", "[fe80::1%nosuch]:9", 1, nil},
		{"port 0", "IPv4", "10.9.0.1:0", 1, unix.EINVAL},
	} {
		t.Run(c.name+" "+c.socket+" "+c.dst, func(t *testing.T) {
			s := sockets[c.socket]
			dst, payload := netip.MustParseAddrPort(c.dst), make([]byte, c.size)
			n, err := s.lane.Send([]Outgoing{{Payload: payload, Dst: dst}})
			if err != c.errno || (n == 1) != (c.errno == nil) {
				t.Errorf("%d, %v, want %v", n, err, c.errno)
			}
			if _, connErr := s.conn.WriteToUDPAddrPort(payload, dst); !errors.Is(connErr, c.errno) {
				t.Errorf("net.UDPConn: %v", connErr)
			}
		})
	}
}

// What package net refuses before it asks the kernel, is refused with an errno.
func TestSendRefusals(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, c := range []struct {
		name, local string
		out         Outgoing
		errno       error
	}{
		{"no destination", "10.9.0.2:0", Outgoing{}, unix.EDESTADDRREQ},
		{"no destination", "[::]:0", Outgoing{}, unix.EDESTADDRREQ},
		{"IPv6 from an IPv4 socket", "10.9.0.2:0", Outgoing{Dst: netip.MustParseAddrPort("[fd09::1]:9")}, unix.EAFNOSUPPORT},
		{"families of source and destination", "[::]:0",
			Outgoing{Dst: netip.MustParseAddrPort("10.9.0.1:9"), Src: netip.MustParseAddr("fd09::2")}, unix.EINVAL},
		{"families of source and destination", "[::]:0",
			Outgoing{Dst: netip.MustParseAddrPort("[fd09::1]:9"), Src: netip.MustParseAddr("10.9.0.2")}, unix.EINVAL},
		{"source not ours", "0.0.0.0:0",
			Outgoing{Dst: netip.MustParseAddrPort("10.9.0.1:9"), Src: netip.MustParseAddr("10.9.0.99")}, unix.ENETUNREACH},
	} {
		l := openOn(t, pair.B, at(c.local))
		if n, err := l.Send([]Outgoing{c.out}); n != 0 || err != c.errno {
			t.Errorf("%s, %s: %d, %v, want %v", c.name, c.local, n, err, c.errno)
		}
		if s := l.Stats(); s.SendErrors != 1 || s.Sent != 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// A bad datagram in the middle of a batch is named by its place; those before it are
// out, and those after it go out by another call. Case 93: none twice, none missing.
func TestPartialBatch(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("0.0.0.0:0"))
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	const count = 200 // more than go into one system call
	bad := map[int]Outgoing{
		0:   {Payload: make([]byte, 65508), Dst: addrOf(c)},
		70:  {Dst: netip.MustParseAddrPort("192.0.2.1:9")},
		128: {Dst: addrOf(c), Src: netip.MustParseAddr("::1")}, // not even asked of the kernel
		199: {Dst: addrOf(c), Src: netip.MustParseAddr("::1")},
	}
	out := make([]Outgoing, count)
	for i := range out {
		out[i] = Outgoing{Payload: []byte{byte(i)}, Dst: addrOf(c)}
		if b, is := bad[i]; is {
			out[i] = b
		}
	}
	seen := 0
	for i := 0; i < count; {
		n, err := l.Send(out[i:])
		i += n
		if err == nil && i == count {
			break
		}
		if _, is := bad[i]; !is || err == nil {
			t.Fatalf("stopped at %d: %v", i, err)
		}
		seen++
		i++
	}
	if seen != len(bad) {
		t.Errorf("%d bad datagrams named of %d", seen, len(bad))
	}
	for i := range count {
		if _, is := bad[i]; is {
			continue
		}
		if p, _ := readFrom(t, c); len(p) != 1 || p[0] != byte(i) {
			t.Fatalf("got % x, want %02x", p, i)
		}
	}
	if s := l.Stats(); s.Sent != count-4 || s.SentBytes != count-4 || s.SendErrors != 4 {
		t.Errorf("%+v", s)
	}
	for i, iov := range l.out.batch.iovs {
		if iov.Base != nil {
			t.Fatalf("the lane keeps payload %d", i)
		}
	}
}

// Case 73: broadcast must be permitted, and then goes out to all.
func TestBroadcast(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	c := peerOn(t, pair.A, "udp4", "0.0.0.0:0")
	dst := netip.MustParseAddrPort("10.9.0.255:0")
	dst = netip.AddrPortFrom(dst.Addr(), addrOf(c).Port())
	for _, local := range []string{"10.9.0.2:0", "[::]:0"} {
		cfg := at(local)
		l := openOn(t, pair.B, cfg)
		if n, err := l.Send([]Outgoing{{Dst: dst}}); n != 0 || err != unix.EACCES {
			t.Errorf("%s, not permitted: %d, %v", local, n, err)
		}
		cfg.Broadcast = true
		l = openOn(t, pair.B, cfg)
		sendAll(t, l,
			Outgoing{Payload: []byte("net"), Dst: dst},
			Outgoing{Payload: []byte("all"), Dst: netip.AddrPortFrom(netip.MustParseAddr("255.255.255.255"), dst.Port()), Ifindex: pair.B.Index})
		for _, want := range []string{"net", "all"} {
			if p, _ := readFrom(t, c); string(p) != want {
				t.Errorf("%s: %q, want %q", local, p, want)
			}
		}
	}
}

// closedPort is an address of the end that nobody listens on.
func closedPort(t *testing.T, end testnet.End, network, local string) netip.AddrPort {
	t.Helper()
	c := peerOn(t, end, network, local)
	defer c.Close()
	return addrOf(c)
}

// A lane with a peer tells of its ICMP errors at the next call, as a connected
// net.UDPConn does, and then goes on.
func TestConnectedErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, x := range []struct{ network, peer, local string }{
		{"udp4", "10.9.0.1:0", "10.9.0.2:0"}, {"udp6", "[fd09::1]:0", "[fd09::2]:0"}, {"udp4", "10.9.0.1:0", "[::]:0"},
	} {
		closed := closedPort(t, pair.A, x.network, x.peer)
		cfg := at(x.local)
		cfg.Remote = closed
		l := openOn(t, pair.B, cfg)
		knock := []Outgoing{{Payload: []byte("?")}}
		provoke := func() {
			t.Helper()
			sendAll(t, l, knock...)
			until(t, "ICMP error", func() bool {
				fds := []unix.PollFd{{Fd: int32(l.FD()), Events: unix.POLLIN}}
				n, err := unix.Poll(fds, 0)
				return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
			})
		}
		provoke()
		if n, err := l.Receive(make([]Message, 1)); n != 0 || err != unix.ECONNREFUSED {
			t.Errorf("%v: receive: %d, %v", x, n, err)
		}
		provoke()
		if n, err := l.Send(knock); n != 0 || err != unix.ECONNREFUSED {
			t.Errorf("%v: send: %d, %v", x, n, err)
		}
		provoke()
		if err := l.Errors(); err != unix.ECONNREFUSED {
			t.Errorf("%v: errors: %v", x, err)
		}
		if err := l.Errors(); err != nil {
			t.Errorf("%v: errors again: %v", x, err)
		}
		nothing(t, l)
		if s := l.Stats(); s.ReceiveErrors != 1 || s.SendErrors != 1 || s.Sent != 3 {
			t.Errorf("%v: %+v", x, s)
		}
	}
}

// On the loopback interface the answer to each datagram of a batch is there before
// the next one is sent: each error is told, and none hides another.
func TestConnectedBatch(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("127.0.0.1:0")
	cfg.Remote = closedPort(t, pair.B, "udp4", "127.0.0.1:0")
	l := openOn(t, pair.B, cfg)
	conn := dialIn(t, pair.B, cfg.Remote)
	var ours, theirs []error
	out := make([]Outgoing, 6)
	for i := range out {
		out[i].Payload = []byte{byte(i)}
		_, err := conn.Write(out[i].Payload)
		theirs = append(theirs, err)
	}
	for i := 0; i < len(out); {
		n, err := l.Send(out[i:])
		for range n {
			ours = append(ours, nil)
		}
		if i += n; err != nil {
			ours = append(ours, err)
			i++
		}
	}
	for i := range out {
		if refused := errors.Is(theirs[i], unix.ECONNREFUSED); refused != (ours[i] == unix.ECONNREFUSED) {
			t.Errorf("datagram %d: %v, net.UDPConn: %v", i, ours[i], theirs[i])
		}
	}
	if n, err := l.SendSegments(Outgoing{Payload: pattern(100)}, 10); n != 0 && n != 10 {
		t.Errorf("segments: %d, %v", n, err)
	}
}

func dialIn(t *testing.T, end testnet.End, to netip.AddrPort) (c *net.UDPConn) {
	t.Helper()
	err := end.NS.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A lane without a peer never tells of ICMP errors, as net.UDPConn does not.
func TestUnconnectedErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	closed := closedPort(t, pair.B, "udp4", "127.0.0.1:0")
	cfg := at("127.0.0.1:0")
	l := openOn(t, pair.B, cfg)
	self := l.LocalAddr()
	for range 5 {
		sendAll(t, l, Outgoing{Payload: []byte("?"), Dst: closed}, Outgoing{Payload: []byte("!"), Dst: self})
		msgs := collect(t, l, 1)
		if msgs[0].Dst != self || msgs[0].Src != self {
			t.Errorf("%v to %v", msgs[0].Src, msgs[0].Dst)
		}
		l.Release(msgs)
		if err := l.Errors(); err != nil {
			t.Error(err)
		}
	}
}

// A peer's datagrams only, and to the peer without naming it.
func TestConnected(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	c, stranger := peerOn(t, pair.A, "udp4", "10.9.0.1:0"), peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	l := openOn(t, pair.B, Config{Remote: addrOf(c)})
	writeTo(t, stranger, l.LocalAddr(), []byte("stranger"))
	writeTo(t, c, l.LocalAddr(), []byte("peer"))
	msgs := collect(t, l, 1)
	if string(msgs[0].Payload) != "peer" {
		t.Errorf("received %q", msgs[0].Payload)
	}
	l.Release(msgs)
	sendAll(t, l, Outgoing{Payload: []byte("1"), TTL: 9}, Outgoing{Payload: []byte("2")}, Outgoing{Payload: []byte("3"), Dst: addrOf(stranger)})
	for _, want := range []string{"1", "2"} {
		if p, from := readFrom(t, c); string(p) != want || from != l.LocalAddr() {
			t.Errorf("%q from %v", p, from)
		}
	}
	if p, _ := readFrom(t, stranger); string(p) != "3" {
		t.Errorf("the stranger got %q", p)
	}
}

// Everything says net.ErrClosed after Close, and nothing faults.
func TestClosed(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("127.0.0.1:0"))
	sendAll(t, l, Outgoing{Payload: []byte("held"), Dst: l.LocalAddr()})
	held := collect(t, l, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, receiveErr := l.Receive(make([]Message, 1))
	_, sendErr := l.Send([]Outgoing{{Dst: l.LocalAddr()}})
	_, segmentsErr := l.SendSegments(Outgoing{Payload: []byte("12")}, 1)
	group := netip.MustParseAddr("239.1.2.3")
	for name, err := range map[string]error{
		"Receive": receiveErr, "Send": sendErr, "SendSegments": segmentsErr, "Errors": l.Errors(),
		"JoinGroup": l.JoinGroup(group, 1), "SetMulticastTTL": l.SetMulticastTTL(1), "SetReceiveBuffer": l.SetReceiveBuffer(1),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if string(held[0].Payload) != "held" {
		t.Errorf("held payload is %q", held[0].Payload)
	}
	l.Release(held)
	if s := l.Stats(); s.Received != 1 || s.Sent != 1 || s.BadReleases != 0 {
		t.Errorf("%+v", s)
	}
	if !l.Info().GSO.On || !l.LocalAddr().IsValid() {
		t.Errorf("%+v", l.Info())
	}
}

// A full send buffer is no error: the rest goes out when there is room again.
func TestSendBufferFull(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.SendBuffer = 20000
	l := openOn(t, pair.B, cfg)
	// Unresolved: the kernel keeps them, and they fill the buffer.
	dst := netip.MustParseAddrPort("10.9.0.77:9")
	out := make([]Outgoing, 100)
	for i := range out {
		out[i] = Outgoing{Payload: pattern(1000), Dst: dst}
	}
	n, err := l.Send(out)
	if err != nil || n == 0 || n == len(out) {
		t.Fatalf("sent %d of %d: %v", n, len(out), err)
	}
	if k, err := l.Send(out[n:]); k != 0 || err != nil {
		t.Errorf("full: sent %d, %v", k, err)
	}
	if k, err := l.SendSegments(out[n], 100); k != 0 || err != nil {
		t.Errorf("full: sent %d segments, %v", k, err)
	}
	if err := pair.B.AddNeigh(dst.Addr(), pair.A.MAC); err != nil {
		t.Fatal(err)
	}
	for n < len(out) {
		fds := []unix.PollFd{{Fd: int32(l.FD()), Events: unix.POLLOUT}}
		if _, err := unix.Poll(fds, int(patience/time.Millisecond)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && err != unix.EINTR {
			t.Fatal(err)
		}
		k, err := l.Send(out[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if s := l.Stats(); s.Sent != 100 || s.SendErrors != 0 {
		t.Errorf("%+v", s)
	}
}
