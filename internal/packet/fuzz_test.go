// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xdpath/xdpath/internal/packet"
)

// decoded is what gopacket makes of a frame.
type decoded struct {
	eth   layers.Ethernet
	tag   layers.Dot1Q
	ip4   layers.IPv4
	ip6   layers.IPv6
	udp   layers.UDP
	kinds []gopacket.LayerType // in order, as far as it could decode
	err   error
	short bool // the frame ends before a length says
}

func decode(frame []byte) *decoded {
	d := &decoded{}
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &d.eth, &d.tag, &d.ip4, &d.ip6, &d.udp)
	parser.IgnoreUnsupported = true
	d.err = parser.DecodeLayers(frame, &d.kinds)
	d.short = parser.Truncated
	return d
}

// isUDP reports whether gopacket got to a UDP header through the layers that
// Parse knows, and no lengths disagreed.
func (d *decoded) isUDP() bool {
	v4 := []gopacket.LayerType{layers.LayerTypeEthernet, layers.LayerTypeIPv4, layers.LayerTypeUDP}
	v6 := []gopacket.LayerType{layers.LayerTypeEthernet, layers.LayerTypeIPv6, layers.LayerTypeUDP}
	kinds := d.kinds
	if len(kinds) > 1 && kinds[1] == layers.LayerTypeDot1Q {
		kinds = slices.Delete(slices.Clone(kinds), 1, 2)
	}
	return d.err == nil && !d.short && (slices.Equal(kinds, v4) || slices.Equal(kinds, v6))
}

func (d *decoded) v6() bool { return slices.Contains(d.kinds, layers.LayerTypeIPv6) }

// value is the UDP value that gopacket's layers amount to.
func (d *decoded) value(frame []byte) packet.UDP {
	u := packet.UDP{
		SrcMAC: packet.MAC(d.eth.SrcMAC), DstMAC: packet.MAC(d.eth.DstMAC),
		Checksum: d.udp.Checksum, Length: len(d.udp.Payload),
		Tagged: slices.Contains(d.kinds, layers.LayerTypeDot1Q),
		Offset: 14 + 20 + 8, TTL: d.ip4.TTL, TOS: d.ip4.TOS,
	}
	src, dst := d.ip4.SrcIP, d.ip4.DstIP
	if d.v6() {
		src, dst = d.ip6.SrcIP, d.ip6.DstIP
		u.TTL, u.TOS = d.ip6.HopLimit, d.ip6.TrafficClass
		u.Offset += 20
	}
	if u.Tagged {
		u.TCI = binary.BigEndian.Uint16(frame[14:])
		u.Offset += 4
	}
	s, _ := netip.AddrFromSlice(src)
	t, _ := netip.AddrFromSlice(dst)
	u.Src = netip.AddrPortFrom(s, uint16(d.udp.SrcPort))
	u.Dst = netip.AddrPortFrom(t, uint16(d.udp.DstPort))
	return u
}

// holds reports whether gopacket's view of a UDP datagram gives the cause for
// which Parse refused it.
func (d *decoded) holds(r packet.Reason, frame []byte) bool {
	ip := 14
	if slices.Contains(d.kinds, layers.LayerTypeDot1Q) {
		ip = 18
	}
	switch r {
	case packet.NotIP: // gopacket guesses at IP behind types that it does not know
		kind := binary.BigEndian.Uint16(frame[ip-2:])
		return kind != 0x0800 && kind != 0x86dd
	case packet.BadVersion:
		return frame[ip]>>4 != 4 && !d.v6() || frame[ip]>>4 != 6 && d.v6()
	case packet.BadIPChecksum:
		return !d.v6() && naiveSum(frame[ip:ip+int(d.ip4.IHL)*4], 0) != 0xffff
	case packet.BadIPLength: // gopacket takes 0 for "all of it"
		return !d.v6() && binary.BigEndian.Uint16(frame[ip+2:]) == 0
	case packet.BadSource:
		return d.v6() && d.ip6.SrcIP[0] == 0xff ||
			!d.v6() && (d.ip4.SrcIP.IsMulticast() || d.ip4.SrcIP.String() == "255.255.255.255")
	case packet.Options:
		return !d.v6() && d.ip4.IHL > 5
	case packet.Fragment:
		return !d.v6() && (d.ip4.FragOffset != 0 || d.ip4.Flags&layers.IPv4MoreFragments != 0)
	case packet.ExtensionHeader:
		return d.v6() && d.ip6.HopByHop != nil
	case packet.BadUDPLength:
		return !d.v6() && d.udp.Length == 0
	case packet.ZeroChecksum:
		return d.v6() && d.udp.Checksum == 0
	}
	return false
}

// Parse never panics, points inside the frame, agrees with gopacket on every
// field, and refuses nothing that gopacket takes without a cause that gopacket
// confirms.
func FuzzParse(f *testing.F) {
	for _, cfg := range goldens() {
		frame := put(f, cfg, []byte("seed"))
		f.Add(frame, len(frame))
		f.Add(append(frame, 0, 0, 0, 0), cfg.Src.Addr().BitLen())
	}
	four, six := oracleFrame(f, flow4(), []byte("seed")), oracleFrame(f, flow6(), []byte("seed"))
	f.Add(withOptions(four, 2, nil), 60)
	f.Add(edit4(four, put16(20, 0x2000)), 60)
	f.Add(behind(six, 0, 0), 80)
	f.Add(edit(six, put16(58, 0)), 80)
	f.Fuzz(func(t *testing.T, frame []byte, cut int) {
		checkParse(t, frame, cut)
		// The fuzzer rarely finds a header checksum: mend it and look again.
		if mended, ok := mend(frame); ok {
			checkParse(t, mended, cut)
		}
	})
}

func mend(frame []byte) ([]byte, bool) {
	ip := 14
	if len(frame) > 18 && binary.BigEndian.Uint16(frame[12:]) == 0x8100 {
		ip = 18
	}
	if len(frame) < ip+20 || frame[ip]>>4 != 4 || len(frame) < ip+int(frame[ip]&15)*4 {
		return nil, false
	}
	return edit(frame, func(b []byte) {
		header := b[ip : ip+max(20, int(b[ip]&15)*4)]
		binary.BigEndian.PutUint16(header[10:], 0)
		binary.BigEndian.PutUint16(header[10:], ^naiveSum(header, 0))
	}), true
}

func checkParse(t *testing.T, frame []byte, cut int) {
	t.Helper()
	u, reason := packet.Parse(frame)
	d := decode(frame)
	if reason != packet.OK {
		if u != (packet.UDP{}) {
			t.Errorf("%v with a value: %+v", reason, u)
		}
		if d.isUDP() && !d.holds(reason, frame) {
			t.Errorf("% x: %v, gopacket sees no cause: %v", frame, reason, d.kinds)
		}
	} else {
		if u.Offset < 42 || u.Length < 0 || u.Offset+u.Length > len(frame) {
			t.Fatalf("% x: payload %d + %d outside the frame", frame, u.Offset, u.Length)
		}
		// gopacket refuses an IPv6 length of 0 only, which Parse does too.
		if !d.isUDP() {
			t.Errorf("% x: taken, but gopacket got to %v: %v", frame, d.kinds, d.err)
		} else if w := d.value(frame); u != w {
			t.Errorf("% x:\n%s", frame, diff(w, u))
		}
	}
	if cut < 0 || cut > len(frame) {
		return
	}
	part, split := packet.ParseTotal(frame[:cut], len(frame))
	if split != packet.SplitHeaders && (part != u || split != reason) {
		t.Errorf("% x cut at %d: %+v, %v; whole: %+v, %v", frame, cut, part, split, u, reason)
	}
	if split == packet.SplitHeaders && (reason == packet.OK && cut >= u.Offset || cut >= 78) {
		t.Errorf("% x cut at %d: %v", frame, cut, split)
	}
	if whole, parts := u.Verify(frame), u.Verify(frame[:cut], frame[cut:]); split == packet.OK && whole != parts {
		t.Errorf("% x cut at %d: checksum %v, whole %v", frame, cut, parts, whole)
	}
}

// A template's frame is gopacket's, parses to the flow it was made for, and its
// reply parses to the flow turned round. The seed draws the flow.
func FuzzTemplate(f *testing.F) {
	f.Add(uint64(1), []byte("seed"), []byte("answer"), uint(1))
	f.Add(uint64(2), []byte{}, []byte{}, uint(0))
	f.Add(uint64(3), bytes.Repeat([]byte{0xff}, 300), []byte{0}, uint(129))
	f.Fuzz(func(t *testing.T, seed uint64, payload, answer []byte, cut uint) {
		if len(payload) > 60000 || len(answer) > 60000 {
			t.Skip("longer than IPv4 takes")
		}
		cfg := answerableFlow(rand.New(rand.NewPCG(seed, 0)))
		frame := put(t, cfg, payload)
		if w := oracleFrame(t, cfg, payload); !bytes.Equal(frame, w) {
			t.Fatalf("%+v:\n%s", cfg, cmp.Diff(w, frame))
		}
		u := mustParse(t, frame)
		if w := want(cfg, frame); u != w {
			t.Fatalf("%s", diff(w, u))
		}
		at := int(cut % uint(len(payload)+1))
		tmpl := mustTemplate(t, cfg)
		header := make([]byte, packet.MaxHeaderLen)
		if n := tmpl.PutSegments(header, [][]byte{payload[:at], payload[at:]}); !bytes.Equal(header[:n], frame[:u.Offset]) {
			t.Errorf("cut at %d: % x, want % x", at, header[:n], frame[:u.Offset])
		}
		back := append(frame[:u.Offset:u.Offset], answer...)
		u.Reply(packet.ReplyConfig{}, back)
		if w := oracleFrame(t, turned(cfg, packet.ReplyConfig{}), answer); !bytes.Equal(back, w) {
			t.Errorf("reply:\n%s", cmp.Diff(w, back))
		}
	})
}
