// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// One row for each way in which users of other data paths saw a frame go wrong.
// The number is the case's; rows with a payload must deliver exactly that.
func TestCases(t *testing.T) {
	four := oracleFrame(t, flow4(), []byte("payload"))
	six := oracleFrame(t, flow6(), []byte("payload"))
	hundred := oracleFrame(t, flow4(), bytes.Repeat([]byte{'p'}, 92)) // IP payload of 100
	tag := oracleFrame(t, tagged(flow4(), 100), []byte("payload"))
	ipLength := func(n uint16) []byte { return edit4(four, put16(16, n)) }
	udpLength := func(n uint16) []byte { return edit(four, put16(38, n)) }
	const delivered = packet.OK
	tests := []struct {
		name    string
		frame   []byte
		want    packet.Reason
		payload string
	}{
		{"54 padding", append(oracleFrame(t, flow4(), []byte("A")), bytes.Repeat([]byte{0xaa}, 17)...), delivered, "A"},
		{"55 cut to 14", four[:14], packet.Truncated, ""},
		{"55 cut to 15", four[:15], packet.Truncated, ""},
		{"55 cut to 33", four[:33], packet.Truncated, ""},
		{"55 cut to 34", four[:34], packet.Truncated, ""},
		{"55 cut to 41", four[:41], packet.Truncated, ""},
		{"55 cut to 42", four[:42], packet.Truncated, ""},
		{"55 UDP length 0", udpLength(0), packet.BadUDPLength, ""},
		{"55 UDP length 7", udpLength(7), packet.BadUDPLength, ""},
		{"55 UDP length 8", udpLength(8), delivered, ""},
		{"55 UDP length 65535", udpLength(65535), packet.BadUDPLength, ""},
		{"55 IP length 0", ipLength(0), packet.BadIPLength, ""},
		{"55 IP length 19", ipLength(19), packet.BadIPLength, ""},
		{"55 IP length 27", ipLength(27), packet.BadUDPLength, ""},
		{"56 UDP length 60 of 100", edit(hundred, put16(38, 60)), delivered, string(bytes.Repeat([]byte{'p'}, 52))},
		{"56 UDP length 140 of 100", edit(hundred, put16(38, 140)), packet.BadUDPLength, ""},
		{"58 IHL 0", edit4(four, func(b []byte) { b[14] = 0x40 }), packet.BadHeaderLength, ""},
		{"58 IHL 1", edit4(four, func(b []byte) { b[14] = 0x41 }), packet.BadHeaderLength, ""},
		{"58 IHL 2", edit4(four, func(b []byte) { b[14] = 0x42 }), packet.BadHeaderLength, ""},
		{"58 IHL 3", edit4(four, func(b []byte) { b[14] = 0x43 }), packet.BadHeaderLength, ""},
		{"58 IHL 4", edit4(four, func(b []byte) { b[14] = 0x44 }), packet.BadHeaderLength, ""},
		{"58 version 6", edit4(four, func(b []byte) { b[14] = 0x65 }), packet.BadVersion, ""},
		{"58 total length beyond the frame", ipLength(uint16(len(four) - 14 + 1)), packet.Truncated, ""},
		{"58 total length below the header", edit4(withOptions(four, 2, nil), put16(16, 27)), packet.BadIPLength, ""},
		{"58 wrong header checksum", edit(four, func(b []byte) { b[25] ^= 1 }), packet.BadIPChecksum, ""},
		{"60 hop-by-hop", behind(six, 0, 0), packet.ExtensionHeader, ""},
		{"60 destination options, length 0", behind(six, 60, 0), packet.ExtensionHeader, ""},
		{"60 destination options, length 7", behind(six, 60, 7), packet.ExtensionHeader, ""},
		{"60 both", behind(behind(six, 60, 0), 0, 0), packet.ExtensionHeader, ""},
		{"60 fragment header", behind(six, 44, 0), packet.Fragment, ""},
		{"60 chain of 20", chainOf(six, 20), packet.ExtensionHeader, ""},
		{"61 tag 100", tag, delivered, "payload"},
		{"61 priority tag", oracleFrame(t, tagged(flow4(), 0xa000), []byte("payload")), delivered, "payload"},
		{"61 802.1ad before 802.1Q", edit(slices.Insert(slices.Clone(tag), 12, 0x88, 0xa8, 0, 7), func([]byte) {}), packet.DoubleTag, ""},
		{"61 two 802.1Q", slices.Insert(slices.Clone(tag), 12, 0x81, 0, 0, 7), packet.DoubleTag, ""},
		{"61 cut in the tag", tag[:16], packet.Truncated, ""},
		{"61 cut behind the tag", tag[:18], packet.Truncated, ""},
		{"63 wrong IP header checksum", edit(four, put16(24, 0)), packet.BadIPChecksum, ""},
		{"64 IPv6 checksum 0", edit(six, put16(60, 0)), packet.ZeroChecksum, ""},
		{"64 IPv4 checksum 0", edit(four, put16(40, 0)), delivered, "payload"},
		{"64 IPv4 checksum 0xffff", edit(four, put16(40, 0xffff)), delivered, "payload"},
	}
	for _, test := range tests {
		u, got := packet.Parse(test.frame)
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		} else if got == delivered && string(u.Payload(test.frame)) != test.payload {
			t.Errorf("%s: payload %q, want %q", test.name, u.Payload(test.frame), test.payload)
		}
	}
}

// behind puts an extension header of 8 * (length + 1) bytes before what follows
// the IPv6 header of an untagged frame.
func behind(frame []byte, kind, length byte) []byte {
	ext := make([]byte, 8*(int(length)+1))
	ext[0], ext[1] = frame[20], length
	b := slices.Insert(slices.Clone(frame), 54, ext...)
	b[20] = kind
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
	return b
}

func chainOf(frame []byte, n int) []byte {
	for range n {
		frame = behind(frame, 60, 0)
	}
	return frame
}

// 57: options shift the UDP header. Whichever port a parser that knows no options
// would read, such a datagram is not ours to deliver, and no port is reported.
func TestCase57Options(t *testing.T) {
	ours, other := []byte{0x30, 0x39, 0x13, 0x88}, []byte{0x30, 0x39, 0x11, 0x11}
	for _, words := range []int{1, 10} {
		for _, decoy := range [][]byte{ours, other} {
			frame := withOptions(oracleFrame(t, flow4(), []byte("payload")), words, decoy)
			if u, reason := packet.Parse(frame); reason != packet.Options || u != (packet.UDP{}) {
				t.Errorf("%d words, decoy % x: %v, %+v", words, decoy, reason, u)
			}
		}
	}
}

// 63: one flipped bit, anywhere in header or payload, never passes for good.
func TestCase63BitFlips(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), flow6(), tagged(flow4(), 100)} {
		frame := oracleFrame(t, cfg, []byte("some payload"))
		ip := 14
		if cfg.Tagged {
			ip = 18
		}
		want := mustParse(t, frame)
		for bit := 8 * ip; bit < 8*len(frame); bit++ {
			damaged := edit(frame, func(b []byte) { b[bit/8] ^= 1 << (bit % 8) })
			u, reason := packet.Parse(damaged)
			if reason != packet.OK {
				continue
			}
			if cfg.Dst.Addr().Is6() && bit < 8*(ip+8) && u.Src == want.Src && u.Dst == want.Dst && u.Length == want.Length {
				continue // class, label and hop limit are under no checksum in IPv6
			}
			if v := u.Verify(damaged); v == packet.Good {
				t.Errorf("%v: bit %d flipped: %v", cfg.Dst, bit, v)
			}
		}
	}
}

// 73: what decides whether a datagram is for us is reported as it is.
func TestCase73OtherDestinations(t *testing.T) {
	for _, dst := range []string{"255.255.255.255:5000", "10.9.0.255:5000", "239.1.2.3:5000", "10.9.0.99:5000", "[ff02::1]:5000"} {
		cfg := flow4()
		if cfg.Dst = netip.MustParseAddrPort(dst); cfg.Dst.Addr().Is6() {
			cfg.Src = flow6().Src
		}
		if mac, ok := packet.GroupMAC(cfg.Dst.Addr()); ok {
			cfg.DstMAC = mac
		}
		frame := oracleFrame(t, cfg, []byte("payload"))
		if d := diff(want(cfg, frame), mustParse(t, frame)); d != "" {
			t.Errorf("%s:\n%s", dst, d)
		}
	}
}

// 74: addresses and ports come out in the order in which they were sent.
func TestCase74ByteOrder(t *testing.T) {
	for _, src := range []string{"10.9.0.1:4660", "10.9.0.1:13330", "10.9.1.0:4660"} {
		cfg := flow4()
		cfg.Src = netip.MustParseAddrPort(src)
		if got := mustParse(t, oracleFrame(t, cfg, nil)).Src; got != cfg.Src {
			t.Errorf("got %v, want %v", got, cfg.Src)
		}
	}
}

// 81: lengths are right up to what IP can say, and beyond it nothing is written.
func TestCase81Lengths(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), flow6()} {
		cfg.Checksum = packet.Offload
		tmpl := mustTemplate(t, cfg)
		for _, n := range []int{0, 1, 1472, 1473, 1476, 1477, 1758, 65507, 65508, 65527, 65528} {
			frame := make([]byte, tmpl.Len()+n)
			fits := n <= 65507 || n <= 65527 && cfg.Dst.Addr().Is6()
			if got := tmpl.PutLen(frame, n); (got != 0) != fits {
				t.Errorf("%v, %d bytes: returned %d", cfg.Dst, n, got)
			} else if fits && mustParse(t, frame).Length != n {
				t.Errorf("%v, %d bytes: parsed %d", cfg.Dst, n, mustParse(t, frame).Length)
			}
		}
	}
}

func TestCase87GroupMAC(t *testing.T) {
	for addr, want := range map[string]string{
		"224.0.0.251":      "01:00:5e:00:00:fb",
		"239.129.2.3":      "01:00:5e:01:02:03",
		"::ffff:224.1.2.3": "01:00:5e:01:02:03",
		"ff02::1":          "33:33:00:00:00:01",
		"ff0e::db8:102:3":  "33:33:01:02:00:03",
		"255.255.255.255":  "ff:ff:ff:ff:ff:ff",
		"10.9.0.2":         "",
		"10.9.0.255":       "",
		"fd09::2":          "",
	} {
		mac, ok := packet.GroupMAC(netip.MustParseAddr(addr))
		if ok != (want != "") || ok && mac.String() != want {
			t.Errorf("%s: %v, %t, want %q", addr, mac, ok, want)
		}
		if ok != mac.IsGroup() {
			t.Errorf("%s: %v is a group: %t", addr, mac, mac.IsGroup())
		}
	}
	if mac, ok := packet.GroupMAC(netip.Addr{}); ok {
		t.Errorf("no address: %v", mac)
	}
	cfg := flow4()
	cfg.Dst, cfg.DstMAC, cfg.TTL = netip.MustParseAddrPort("239.129.2.3:5000"), packet.MAC{}, 0
	u := mustParse(t, put(t, cfg, nil))
	if u.DstMAC.String() != "01:00:5e:01:02:03" || u.TTL != 1 {
		t.Errorf("template to a group: %v, TTL %d, want its MAC and 1", u.DstMAC, u.TTL)
	}
}

// 88: TTL, don't-fragment, identification and header checksum.
func TestCase88HeaderFields(t *testing.T) {
	for ttl, want := range map[uint8]uint8{0: 64, 1: 1, 255: 255} {
		cfg := flow4()
		cfg.TTL = ttl
		frame := put(t, cfg, nil)
		if len(frame) != 42 {
			t.Errorf("empty datagram: %d bytes, want 42", len(frame))
		}
		if u := mustParse(t, frame); u.TTL != want || u.Length != 0 || u.TOS != 0 {
			t.Errorf("TTL %d: got TTL %d, length %d, TOS %#x", ttl, u.TTL, u.Length, u.TOS)
		}
		if id, flags := binary.BigEndian.Uint16(frame[18:]), frame[20]; id != 0 || flags != 0x40 {
			t.Errorf("identification %d, flags %#x, want 0 and don't-fragment", id, flags)
		}
		if sum := naiveSum(frame[14:34], 0); sum != 0xffff {
			t.Errorf("TTL %d: header sums to %#x", ttl, sum)
		}
	}
}

// 92: what a device does that adds up from ChecksumStart on and stores the
// complement gives the checksum that software computes.
func TestCase92Offload(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), flow6(), tagged(flow4(), 9), tagged(flow6(), 9)} {
		payload := []byte("checksum me")
		software := put(t, cfg, payload)
		cfg.Checksum = packet.Offload
		tmpl := mustTemplate(t, cfg)
		frame := put(t, cfg, payload)
		if u := mustParse(t, frame); u.Verify(frame) != packet.Partial {
			t.Errorf("%v: before the device: %v, want partial", cfg.Dst, u.Verify(frame))
		}
		start := tmpl.ChecksumStart()
		sum := naiveSum(frame[start:], 0)
		binary.BigEndian.PutUint16(frame[start+packet.ChecksumOffset:], ^sum)
		if !bytes.Equal(frame, software) {
			t.Errorf("%v: after the device\ngot  % x\nwant % x", cfg.Dst, frame, software)
		}
	}
}
