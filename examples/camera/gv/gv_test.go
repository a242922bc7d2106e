// SPDX-License-Identifier: MIT

package gv

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// unhex reads bytes written in hexadecimal, with spaces as the reader likes them.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Bytes as they are on the wire, written by hand after the tables of the format.
func TestCommands(t *testing.T) {
	resend := Resend{Block: 0x1234, First: 5, Last: 9}
	resend64 := Resend{Block: 1 << 40, First: 5, Last: 1 << 25, Extended: true}
	put := func(r Resend) []byte {
		b := make([]byte, 20)
		return b[:r.Put(b)]
	}
	for _, c := range []struct {
		name, wire string
		command    Command
	}{
		{"discovery", "42 11 0002 0000 ffff", Command{FlagAck | FlagBroadcast, Discovery, 0xffff, nil}},
		{"read registers", "42 01 0080 0008 0001 00000a00 00000d04", Command{FlagAck, ReadReg, 1, AppendWords(nil, RegCCP, RegSCPS)}},
		{"write register", "42 01 0082 0008 0002 00000a00 00000002", Command{FlagAck, WriteReg, 2, AppendWrites(nil, Write{RegCCP, CCPControl})}},
		{"read memory", "42 01 0084 0008 0003 00000200 00000200", Command{FlagAck, ReadMem, 3, AppendSpan(nil, Span{RegURL, 512})}},
		{"write memory", "42 00 0086 0008 0004 000000e8 61000000", Command{0, WriteMem, 4, AppendMemory(nil, RegUserName, []byte("a\x00\x00\x00"))}},
		{"resend", "42 00 0040 000c 0005 0000 1234 00000005 00000009", Command{0, ResendReq, 5, put(resend)}},
		{"resend, extended", "42 10 0040 0014 0006 0000 0000 00000005 02000000 0000010000000000", Command{resend64.Flags(), ResendReq, 6, put(resend64)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := unhex(t, c.wire)
			if got := AppendCommand(nil, c.command); !bytes.Equal(got, wire) {
				t.Errorf("encoded\ngot  %x\nwant %x", got, wire)
			}
			got, err := ParseCommand(append(wire, 0, 0)) // with padding
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.command, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
	for _, want := range []Resend{resend, resend64} {
		if got, err := ParseResend(Command{Flags: want.Flags(), Body: put(want)}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestAck(t *testing.T) {
	for wire, want := range map[string]Ack{
		"0000 0083 0004 0002 0000 0001": {OK, WriteReg.Ack(), 2, AppendIndex(nil, 1)},
		"8006 0083 0000 0007":           {AccessDenied, WriteReg.Ack(), 7, nil},
	} {
		b := unhex(t, wire)
		if got := AppendAck(nil, want); !bytes.Equal(got, b) {
			t.Errorf("encoded\ngot  %x\nwant %x", got, b)
		}
		got, err := ParseAck(b)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Error(d, err)
		}
	}
}

func TestPackets(t *testing.T) {
	leader := Leader{PayloadType: PayloadImage, Timestamp: 0x0102030405060708, PixelFormat: Mono8, Width: 1024, Height: 512, X: 1, Y: 2, PadX: 3, PadY: 4}
	body := make([]byte, LeaderLen)
	leader.Put(body)
	for _, c := range []struct {
		name, wire string
		packet     Packet
	}{
		{
			"leader", "0000 ff79 01 000000 0000 0001 0102030405060708 01080001 00000400 00000200 00000001 00000002 0003 0004",
			Packet{Block: 65401, Kind: PartLeader, Body: body},
		},
		{"payload", "0100 0001 03 00ffff ab", Packet{Status: Resent, Block: 1, Kind: PartPayload, ID: 65535, Body: []byte{0xab}}},
		{"unavailable", "800c 0001 03 000007", Packet{Status: Unavailable, Block: 1, Kind: PartPayload, ID: 7}},
		{
			"trailer, extended", "0000 0000 82 000000 0000000100000000 00000168 0000 0001 00000200",
			Packet{Block: 1 << 32, Kind: PartTrailer, ID: 360, Extended: true, Body: []byte{0, 0, 0, 1, 0, 0, 2, 0}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := unhex(t, c.wire)
			got, err := ParsePacket(wire)
			if d := cmp.Diff(c.packet, got, cmpopts.EquateEmpty()); d != "" || err != nil {
				t.Fatal(d, err)
			}
			b := make([]byte, len(wire))
			n := c.packet.PutHeader(b)
			if copy(b[n:], c.packet.Body); n != HeaderLen(c.packet.Extended) || !bytes.Equal(b, wire) {
				t.Errorf("encoded\ngot  %x\nwant %x", b, wire)
			}
		})
	}
	if got, err := ParseLeader(body); err != nil || got != leader {
		t.Errorf("leader: got %+v, %v", got, err)
	}
	if got, want := leader.Bytes(), int64((1024+3)*512+4); got != want {
		t.Errorf("image of %d bytes, want %d", got, want)
	}
	b, trailer := make([]byte, TrailerLen), Trailer{PayloadImage, 512}
	if got, err := ParseTrailer(b[:trailer.Put(b)]); err != nil || got != trailer {
		t.Errorf("trailer: got %+v, %v", got, err)
	}
}

func TestIdentity(t *testing.T) {
	want := Identity{
		MAC: net.HardwareAddr{2, 0, 0, 1, 2, 3}, IP: netip.MustParseAddr("10.9.0.1"), Mask: netip.MustParseAddr("255.255.255.0"), Gateway: netip.IPv4Unspecified(),
		Manufacturer: "xdpath", Model: "Camera", Version: "1", Info: "a test", Serial: "007", Name: "é",
	}
	b := make([]byte, DiscoveryLen)
	want.Put(b)
	got, err := ParseIdentity(b)
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" || err != nil {
		t.Error(d, err)
	}
	want.Name = strings.Repeat("é", 20) // 40 bytes, where 15 fit
	want.Put(b)
	if got, _ := ParseIdentity(b); got.Name != strings.Repeat("é", 7) || got.Serial != "007" {
		t.Errorf("names %q, serial %q", got.Name, got.Serial)
	}
}

// The figures of facts: 1500 and 9000 bytes, of which 36 or 48 are headers.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		scps     int
		extended bool
		want     int
	}{{1500, false, 1464}, {1500, true, 1452}, {8000, false, 7964}, {9000, false, 8964}, {9000, true, 8952}} {
		if got := PacketPayload(c.scps, c.extended); got != c.want {
			t.Errorf("payload of %d, extended %v: %d, want %d", c.scps, c.extended, got, c.want)
		}
	}
	for _, c := range []struct{ bytes, payload, want int }{{0, 1464, 0}, {1, 1464, 1}, {1464, 1464, 1}, {1465, 1464, 2}, {1 << 20, 1464, 717}, {1 << 20, 8964, 117}} {
		if got := Packets(c.bytes, c.payload); got != c.want {
			t.Errorf("%d bytes in packets of %d: %d, want %d", c.bytes, c.payload, got, c.want)
		}
	}
	if got, want := RGB8.Bytes(1024, 1024), int64(3<<20); got != want {
		t.Errorf("RGB8: %d bytes, want %d", got, want)
	}
	if got := (Leader{PixelFormat: RGB8, Width: math.MaxUint32, Height: math.MaxUint32}).Bytes(); got != math.MaxInt64 {
		t.Errorf("an image too large to count has %d bytes", got)
	}
	for p, name := range pixelNames {
		if got, err := ParsePixelFormat(name); err != nil || got != p {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Ids round the end, with no 0: from 65533, with one left out, exactly one is lost.
func TestBlocks(t *testing.T) {
	id := uint64(65533)
	for _, want := range []uint64{65534, 65535, 1, 2} {
		if id = NextBlock(id, false); id != want {
			t.Fatalf("got %d, want %d", id, want)
		}
	}
	if got := NextBlock(65535, true); got != 65536 {
		t.Errorf("extended: %d after 65535", got)
	}
	if got := NextBlock(math.MaxUint64, true); got != 1 {
		t.Errorf("extended: %d after the last", got)
	}
	for _, c := range []struct {
		a, b     uint64
		extended bool
		want     int64
	}{
		{1, 2, false, 1}, {2, 1, false, -1}, {65535, 1, false, 1}, {1, 65535, false, -1}, {65534, 1, false, 2}, {65533, 65535, false, 2},
		{1, 32768, false, 32767}, {1, 32769, false, -32767}, {65535, 1, true, -65534}, {7, 7, false, 0},
	} {
		if got := BlocksAhead(c.a, c.b, c.extended); got != c.want {
			t.Errorf("from %d to %d, extended %v: %d, want %d", c.a, c.b, c.extended, got, c.want)
		}
	}
}

func TestMalformed(t *testing.T) {
	parse := map[string]func(b []byte) error{
		"command":  func(b []byte) error { _, err := ParseCommand(b); return err },
		"ack":      func(b []byte) error { _, err := ParseAck(b); return err },
		"packet":   func(b []byte) error { _, err := ParsePacket(b); return err },
		"leader":   func(b []byte) error { _, err := ParseLeader(b); return err },
		"trailer":  func(b []byte) error { _, err := ParseTrailer(b); return err },
		"resend":   func(b []byte) error { _, err := ParseResend(Command{Body: b}); return err },
		"resend64": func(b []byte) error { _, err := ParseResend(Command{Flags: FlagExtended, Body: b}); return err },
		"words":    func(b []byte) error { _, err := ParseWords(b); return err },
		"writes":   func(b []byte) error { _, err := ParseWrites(b); return err },
		"span":     func(b []byte) error { _, err := ParseSpan(b); return err },
		"memory":   func(b []byte) error { _, _, err := ParseMemory(b); return err },
		"index":    func(b []byte) error { _, err := ParseIndex(b); return err },
		"identity": func(b []byte) error { _, err := ParseIdentity(b); return err },
	}
	for _, c := range []struct{ what, wire string }{
		{"command", ""},
		{"command", "42 01 0080 0000 00"},
		{"command", "41 01 0080 0000 0001"},      // another key
		{"command", "42 01 0080 0000 0000"},      // id 0
		{"command", "42 01 0080 0004 0001 0000"}, // more body than there is
		{"ack", "0000 0081 0000 00"},
		{"ack", "0000 0081 0004 0001"},
		{"packet", "0000 0001 03 0000"},
		{"packet", "0000 0000 03 000001"}, // block 0
		{"packet", "0000 0000 83 000000 0000000000000001 000000"},
		{"leader", "0000 0001"},
		{"trailer", "0000 0001"},
		{"resend", "0000 0001 00000001 000000"},
		{"resend", "0000 0000 00000001 00000002 0000000000000001"}, // extended, without the flag
		{"resend64", "0000 0001 00000001 00000002"},
		{"words", ""},
		{"words", "00000a"},
		{"writes", "00000a00"},
		{"span", "00000a00"},
		{"memory", "0000"},
		{"index", ""},
		{"identity", "00020000"},
	} {
		if err := parse[c.what](unhex(t, c.wire)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s %s: %v", c.what, c.wire, err)
		}
	}
	// A command that is cut short can still be answered.
	if c, err := ParseCommand(unhex(t, "42 01 0080 0004 0009 00")); err == nil || c.ID != 9 || c.Kind != ReadReg || !c.WantsAck() || c.Body != nil {
		t.Errorf("cut short: %+v, %v", c, err)
	}
}

func TestStatus(t *testing.T) {
	if OK.IsError() || Resent.IsError() || !Unavailable.IsError() {
		t.Error("errors are those from 0x8000 on")
	}
	if got := AccessDenied.Error() + ", " + Status(0x8123).Error(); got != "access denied, status 0x8123" {
		t.Error(got)
	}
}

func TestNoAllocation(t *testing.T) {
	b := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		k := Packet{Block: 1, Kind: PartLeader}.PutHeader(b)
		Leader{Width: 1}.Put(b[k:])
		p, _ := ParsePacket(b)
		ParseLeader(p.Body)
		Trailer{}.Put(b)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
