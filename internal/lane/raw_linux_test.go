// SPDX-License-Identifier: MIT

package lane

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Frames by hand, with what no ordinary socket sends. They are for port to of end B,
// from port 9 of end A.
type framer struct {
	from, to testnet.End
	port     uint16
}

func (f framer) ethernet(mac net.HardwareAddr, kind uint16) []byte {
	frame := append([]byte(nil), mac...)
	frame = append(frame, f.from.MAC...)
	return binary.BigEndian.AppendUint16(frame, kind)
}

// udp is the header and the payload. Without a checksum IPv4 takes it as it is.
func (f framer) udp(payload string) []byte {
	b := binary.BigEndian.AppendUint16(nil, 9)
	b = binary.BigEndian.AppendUint16(b, f.port)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// ip4 is a frame with IP options, a multiple of 4 bytes, in front of body.
func (f framer) ip4(mac net.HardwareAddr, dst netip.Addr, options, body []byte) []byte {
	h := make([]byte, 20, 60)
	h[0] = 0x40 | byte(5+len(options)/4)
	h[8], h[9] = 64, unix.IPPROTO_UDP
	src4, dst4 := f.from.IP4.As4(), dst.As4()
	copy(h[12:], src4[:])
	copy(h[16:], dst4[:])
	h = append(h, options...)
	binary.BigEndian.PutUint16(h[2:], uint16(len(h)+len(body)))
	binary.BigEndian.PutUint16(h[10:], ^sum(h))
	return append(append(f.ethernet(mac, unix.ETH_P_IP), h...), body...)
}

// ip6 is a frame with UDP behind extension headers, of which next says the first.
func (f framer) ip6(next byte, extensions []byte, payload string) []byte {
	body := f.udp(payload)
	src, dst := f.from.IP6.As16(), f.to.IP6.As16()
	pseudo := append(append(append([]byte(nil), src[:]...), dst[:]...), 0, 0, 0, byte(len(body)), 0, 0, 0, unix.IPPROTO_UDP)
	binary.BigEndian.PutUint16(body[6:], ^sum(append(pseudo, body...)))
	frame := append(f.ethernet(f.to.MAC, unix.ETH_P_IPV6), 0x60, 0, 0, 0)
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(extensions)+len(body)))
	frame = append(append(append(frame, next, 64), src[:]...), dst[:]...)
	return append(append(frame, extensions...), body...)
}

// sum is the Internet checksum's ones' complement sum.
func sum(b []byte) uint16 {
	total := uint32(0)
	for i := 0; i < len(b)&^1; i += 2 {
		total += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		total += uint32(b[len(b)-1]) << 8
	}
	for total>>16 != 0 {
		total = total&0xffff + total>>16
	}
	return uint16(total)
}

// expectRaw sends frames and receives want from them, in this order.
func expectRaw(t *testing.T, l *Lane, raw *testnet.Raw, frames [][]byte, want ...string) []Message {
	t.Helper()
	for _, frame := range frames {
		if err := raw.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	msgs := collect(t, l, len(want))
	for i, text := range want {
		if string(msgs[i].Payload) != text {
			t.Errorf("datagram %d: %q, want %q", i, msgs[i].Payload, text)
		}
	}
	return msgs
}

func rawOn(t *testing.T, end testnet.End) *testnet.Raw {
	t.Helper()
	return openTap(t, end).raw
}

// Case 57: IP options. The program of the fast lane passes these datagrams up; the
// port behind the options decides, not bytes that look like one.
func TestIPOptions(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	raw := rawOn(t, pair.A)
	for _, local := range []string{"10.9.0.2:0", "[::]:0"} {
		l := openOn(t, pair.B, at(local))
		port := l.LocalAddr().Port()
		f := framer{pair.A, pair.B, port}
		frame := func(options []byte, body []byte) []byte { return f.ip4(pair.B.MAC, pair.B.IP4, options, body) }
		nops := func(n int) []byte { return bytes.Repeat([]byte{1}, n) }
		// Without options the destination port is at byte 36 of the frame: there,
		// in an option of the kind "experiment", it is a decoy.
		decoy := []byte{0x9e, 4, byte(port >> 8), byte(port)}
		other := framer{pair.A, pair.B, port ^ 0x0101}
		msgs := expectRaw(t, l, raw, [][]byte{
			frame(nops(4), f.udp("24-byte header")),
			frame(nops(40), f.udp("60-byte header")),
			frame(decoy, other.udp("decoy")),
			frame([]byte{0x9e, 4, 0, 9}, f.udp("reversed")),
		}, "24-byte header", "60-byte header", "reversed")
		for _, m := range msgs {
			if m.Src != netip.AddrPortFrom(pair.A.IP4, 9) || m.Dst.Addr() != pair.B.IP4 || m.TTL != 64 {
				t.Errorf("%q: %v to %v, TTL %d", m.Payload, m.Src, m.Dst, m.TTL)
			}
		}
		l.Release(msgs)
	}
}

// Case 60: extension headers and fragment headers in front of UDP.
func TestExtensionHeaders(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	raw := rawOn(t, pair.A)
	l := openOn(t, pair.B, at("[fd09::2]:0"))
	f := framer{pair.A, pair.B, l.LocalAddr().Port()}
	const hopByHop, fragment, destination, udp = 0, 44, 60, unix.IPPROTO_UDP
	// An options header of 8*(n+1) bytes: one option, an experiment that whoever
	// does not know it passes over. Padding of more than 7 bytes is refused.
	options := func(next byte, n int) []byte {
		return append([]byte{next, byte(n), 0x1e, byte(8*n + 4)}, make([]byte, 8*n+4)...)
	}
	var chain []byte
	for i := range 20 {
		next := byte(destination)
		if i == 19 {
			next = udp
		}
		chain = append(chain, options(next, 0)...)
	}
	msgs := expectRaw(t, l, raw, [][]byte{
		f.ip6(udp, nil, "plain"),
		f.ip6(hopByHop, options(udp, 0), "hop by hop"),
		f.ip6(destination, options(udp, 0), "destination 0"),
		f.ip6(destination, options(udp, 7), "destination 7"),
		f.ip6(hopByHop, append(options(destination, 0), options(udp, 0)...), "both"),
		f.ip6(fragment, []byte{udp, 0, 0, 0, 1, 2, 3, 4}, "whole in a fragment"),
	}, "plain", "hop by hop", "destination 0", "destination 7", "both", "whole in a fragment")
	for _, m := range msgs {
		if m.Src != netip.AddrPortFrom(pair.A.IP6, 9) || m.Dst.Addr() != pair.B.IP6 || m.TTL != 64 || m.Ifindex != pair.B.Index {
			t.Errorf("%q: %v to %v, TTL %d", m.Payload, m.Src, m.Dst, m.TTL)
		}
	}
	l.Release(msgs)
	// Whether the kernel takes a chain of 20 is its own affair; if it does, the
	// payload is right.
	if err := raw.Send(f.ip6(destination, chain, "chain")); err != nil {
		t.Fatal(err)
	}
	if err := raw.Send(f.ip6(udp, nil, "mark")); err != nil {
		t.Fatal(err)
	}
	for text := ""; text != "mark"; {
		msgs := collect(t, l, 1)
		if text = string(msgs[0].Payload); text != "chain" && text != "mark" {
			t.Errorf("received %q", text)
		}
		l.Release(msgs)
	}
}

// Fragments come as one datagram when the last has come, in any order.
func TestFragments(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	raw := rawOn(t, pair.A)
	l := openOn(t, pair.B, at("10.9.0.2:0"))
	f := framer{pair.A, pair.B, l.LocalAddr().Port()}
	body := f.udp(string(pattern(3000)))
	part := func(id byte, from, to int) []byte {
		frame := f.ip4(pair.B.MAC, pair.B.IP4, nil, body[from:to])
		ip := frame[14:34]
		ip[5] = id
		offset := uint16(from / 8)
		if to < len(body) {
			offset |= 0x2000 // more follow
		}
		binary.BigEndian.PutUint16(ip[6:], offset)
		binary.BigEndian.PutUint16(ip[10:], 0)
		binary.BigEndian.PutUint16(ip[10:], ^sum(ip))
		return frame
	}
	end := len(body)
	msgs := expectRaw(t, l, raw, [][]byte{
		part(1, 0, 1480), part(1, 1480, 2960), part(1, 2960, end),
		part(2, 2960, end), part(2, 0, 1480), // and its middle never comes
		part(3, 2960, end), part(3, 0, 1480), part(3, 1480, 2960),
	}, string(pattern(3000)), string(pattern(3000)))
	if m := msgs[1]; m.Src.Port() != 9 || m.Dst.Addr() != pair.B.IP4 {
		t.Errorf("%v to %v", m.Src, m.Dst)
	}
	l.Release(msgs)
	nothing(t, l)
}

// Case 73: which addresses a socket takes, and that each is told. A wrong MAC address
// is never taken.
func TestAddressesTaken(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	raw := rawOn(t, pair.A)
	addr := netip.MustParseAddr
	group := net.HardwareAddr{1, 0, 0x5e, 1, 2, 3}
	all := net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, c := range []struct {
		local string
		want  []string
	}{
		{"10.9.0.2:0", []string{"10.9.0.2"}},
		{"0.0.0.0:0", []string{"255.255.255.255", "10.9.0.255", "10.9.0.2"}},
		{"[::]:0", []string{"255.255.255.255", "10.9.0.255", "10.9.0.2"}},
	} {
		l := openOn(t, pair.B, at(c.local))
		f := framer{pair.A, pair.B, l.LocalAddr().Port()}
		var frames [][]byte
		for _, x := range []struct {
			mac net.HardwareAddr
			dst string
		}{
			{all, "255.255.255.255"}, {all, "10.9.0.255"}, {group, "239.1.2.3"}, {pair.B.MAC, "10.9.0.99"},
			{net.HardwareAddr{2, 0, 0, 0, 0, 9}, "10.9.0.2"}, {pair.B.MAC, "10.9.0.2"},
		} {
			frames = append(frames, f.ip4(x.mac, addr(x.dst), nil, f.udp(x.dst)))
		}
		msgs := expectRaw(t, l, raw, frames, c.want...)
		for _, m := range msgs {
			if m.Dst.Addr().String() != string(m.Payload) {
				t.Errorf("%s: %q came to %v", c.local, m.Payload, m.Dst)
			}
		}
		l.Release(msgs)
		nothing(t, l)
	}
}
