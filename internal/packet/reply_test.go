// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// turned is the flow of the reply to a datagram of the flow.
func turned(cfg packet.Config, reply packet.ReplyConfig) packet.Config {
	cfg.SrcMAC, cfg.DstMAC = cfg.DstMAC, cfg.SrcMAC
	cfg.Src, cfg.Dst = cfg.Dst, cfg.Src
	cfg.TTL, cfg.TOS = reply.TTL, reply.TOS
	if cfg.TTL == 0 {
		cfg.TTL = 64
	}
	cfg.Fragmentable = false
	return cfg
}

// answerableFlow is a random flow to which a reply can be sent.
func answerableFlow(r *rand.Rand) packet.Config {
	cfg := randomFlow(r)
	cfg.Src = netip.AddrPortFrom(cfg.Src.Addr(), uint16(1+r.IntN(65535)))
	return cfg
}

// A reply of any length, whole or in segments, is what gopacket would send.
func TestReplyRandomFlows(t *testing.T) {
	r := newRand(t)
	for range 3000 {
		cfg := answerableFlow(r)
		received := oracleFrame(t, cfg, randomBytes(r, r.IntN(200)))
		if cfg.Dst.Addr().Is6() {
			received[headerLen(cfg)-46] = 0x77 // a flow label, which is not reflected
		} else {
			tmpl := mustTemplate(t, cfg)
			tmpl.SetID(received, uint16(r.Uint32())) // nor is the identification
		}
		u := mustParse(t, received)
		answer := randomBytes(r, r.IntN(300))
		reply := packet.ReplyConfig{TTL: uint8(r.IntN(256)), TOS: uint8(r.Uint32())}
		want := oracleFrame(t, turned(cfg, reply), answer)

		frame := append(slices.Clone(received[:u.Offset]), answer...)
		if n := u.Reply(reply, frame); n != len(want) || !bytes.Equal(frame, want) {
			t.Fatalf("returned %d\ngot  % x\nwant % x", n, frame, want)
		}
		if n := u.Reply(reply, frame); n != len(want) || !bytes.Equal(frame, want) {
			t.Fatalf("second time: returned %d\ngot  % x\nwant % x", n, frame, want)
		}
		cut := u.Offset + r.IntN(len(answer)+1)
		frame = append(slices.Clone(received[:u.Offset]), answer...)
		if n := u.Reply(reply, frame[:cut], frame[cut:]); n != len(want) || !bytes.Equal(frame, want) {
			t.Fatalf("cut at %d: returned %d\ngot  % x\nwant % x", cut, n, frame, want)
		}
	}
}

func TestReplyChecksumModes(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), tagged(flow6(), 7)} {
		received := oracleFrame(t, cfg, []byte("question"))
		u := mustParse(t, received)
		field := u.Offset - 2
		want := oracleFrame(t, turned(cfg, packet.ReplyConfig{}), []byte("question"))
		for _, test := range []struct {
			name string
			cfg  packet.ReplyConfig
			got  uint16 // field as received
			want uint16 // field in the reply
		}{
			{"software", packet.ReplyConfig{}, u.Checksum, u.Checksum},
			{"software, damaged", packet.ReplyConfig{}, u.Checksum + 1, u.Checksum},
			{"software, partial", packet.ReplyConfig{}, pseudoSum(u), u.Checksum},
			{"kept", packet.ReplyConfig{SamePayload: true}, u.Checksum, u.Checksum},
			{"kept, damaged", packet.ReplyConfig{SamePayload: true}, u.Checksum + 1, u.Checksum + 1},
			{"kept, partial", packet.ReplyConfig{SamePayload: true}, pseudoSum(u), u.Checksum},
			{"kept, none received", packet.ReplyConfig{SamePayload: true}, 0, u.Checksum},
			{"omit", packet.ReplyConfig{Checksum: packet.Omit, SamePayload: true}, u.Checksum, 0},
			{"offload", packet.ReplyConfig{Checksum: packet.Offload, SamePayload: true}, u.Checksum, pseudoSum(u)},
		} {
			frame := edit(received, put16(field, test.got))
			got, reason := packet.Parse(frame)
			if reason == packet.ZeroChecksum || cfg.Dst.Addr().Is6() && test.cfg.Checksum == packet.Omit {
				continue // neither arrives nor leaves over IPv6
			}
			binary.BigEndian.PutUint16(want[field:], test.want)
			if n := got.Reply(test.cfg, frame); n != len(want) || !bytes.Equal(frame, want) {
				t.Errorf("%v %s: returned %d\ngot  % x\nwant % x", cfg.Dst, test.name, n, frame, want)
			}
		}
	}
}

// The received checksum counts the received length: another length, or a length
// field of 0, must not keep it.
func TestReplySamePayloadOtherLength(t *testing.T) {
	received := oracleFrame(t, flow6(), []byte("question"))
	zero := edit(received, func(b []byte) {
		binary.BigEndian.PutUint16(b[58:], 0)
		binary.BigEndian.PutUint16(b[60:], packet.Update(binary.BigEndian.Uint16(b[60:]), 16, 0))
	})
	cut := received[:len(received)-1]
	for _, frame := range [][]byte{zero, cut} {
		u := mustParse(t, zero)
		if n := u.Reply(packet.ReplyConfig{SamePayload: true}, frame); n != len(frame) {
			t.Fatalf("returned %d", n)
		}
		u = mustParse(t, frame)
		if v := u.Verify(frame); v != packet.Good {
			t.Errorf("% x: %v", frame, v)
		}
	}
}

func TestReplyRefuses(t *testing.T) {
	group := flow4()
	group.Dst = netip.MustParseAddrPort("239.1.2.3:5000")
	group.DstMAC, _ = packet.GroupMAC(group.Dst.Addr())
	misdirected := group
	misdirected.DstMAC = flow4().DstMAC
	broadcast := flow4()
	broadcast.DstMAC = packet.BroadcastMAC()
	limited := flow4()
	limited.Dst = netip.MustParseAddrPort("255.255.255.255:5000")
	fromGroup := flow4()
	fromGroup.SrcMAC[0] |= 1
	portless := flow4()
	portless.Src = netip.MustParseAddrPort("10.9.0.1:0")
	nobody := flow4()
	nobody.Src = netip.MustParseAddrPort("0.0.0.0:68")
	for _, cfg := range []packet.Config{group, misdirected, broadcast, limited, fromGroup, portless, nobody} {
		frame := oracleFrame(t, cfg, []byte("question"))
		u := mustParse(t, frame)
		before := bytes.Clone(frame)
		if n := u.Reply(packet.ReplyConfig{}, frame); n != 0 || !bytes.Equal(frame, before) {
			t.Errorf("%v -> %v: returned %d, % x", cfg.Src, cfg.Dst, n, frame)
		}
	}
	for _, cfg := range []packet.Config{flow4(), flow6()} {
		frame := oracleFrame(t, cfg, []byte("question"))
		u := mustParse(t, frame)
		before := bytes.Clone(frame)
		four := packet.UDP{Src: u.Src, Dst: flow6().Dst, Offset: 42}
		made := packet.UDP{Offset: 42, Length: math.MinInt}
		half := packet.UDP{Src: netip.AddrPortFrom(netip.Addr{}, 5), Dst: flow6().Dst, Offset: 62}
		most := 65527
		if cfg.Dst.Addr().Is4() {
			most = 65507
		}
		for i, n := range []int{
			u.Reply(packet.ReplyConfig{}, frame[:u.Offset-1]),
			u.Reply(packet.ReplyConfig{}, frame[:u.Offset], make([]byte, most), []byte{0}),
			u.Reply(packet.ReplyConfig{Checksum: 3}, frame),
			new(packet.UDP).Reply(packet.ReplyConfig{}, frame),
			four.Reply(packet.ReplyConfig{}, frame[:42]),
			made.Reply(packet.ReplyConfig{}, frame),
			half.Reply(packet.ReplyConfig{}, slices.Concat(frame, make([]byte, 62))[:62]),
		} {
			if n != 0 || !bytes.Equal(frame, before) {
				t.Errorf("%v, call %d: returned %d, % x", cfg.Dst, i, n, frame)
			}
		}
		if n := u.Reply(packet.ReplyConfig{}, frame[:u.Offset], make([]byte, most)); n != u.Offset+most {
			t.Errorf("%v, largest payload: returned %d", cfg.Dst, n)
		}
	}
	frame := oracleFrame(t, flow6(), nil)
	u := mustParse(t, frame)
	if n := u.Reply(packet.ReplyConfig{Checksum: packet.Omit}, frame); n != 0 {
		t.Errorf("IPv6 without checksum: returned %d", n)
	}
}
