// SPDX-License-Identifier: MIT

package packet_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// edit returns a changed copy of a frame.
func edit(frame []byte, change func(b []byte)) []byte {
	b := slices.Clone(frame)
	change(b)
	return b
}

// put16 returns a change that sets a word.
func put16(at int, v uint16) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint16(b[at:], v) }
}

// edit4 changes an untagged IPv4 frame and mends the IPv4 header checksum.
func edit4(frame []byte, change func(b []byte)) []byte {
	return edit(frame, func(b []byte) {
		change(b)
		header := b[14:min(14+max(20, int(b[14]&15)*4), len(b))]
		binary.BigEndian.PutUint16(header[10:], 0)
		binary.BigEndian.PutUint16(header[10:], ^naiveSum(header, 0))
	})
}

// withOptions puts words of options, all no-operation, into an untagged IPv4
// frame and fills the first bytes behind the fixed header with decoy.
func withOptions(frame []byte, words int, decoy []byte) []byte {
	options := make([]byte, 4*words)
	for i := range options {
		options[i] = 1
	}
	copy(options, decoy)
	b := slices.Insert(slices.Clone(frame), 34, options...)
	return edit4(b, func(b []byte) {
		b[14] = 0x40 | byte(5+words)
		binary.BigEndian.PutUint16(b[16:], uint16(len(b)-14))
	})
}

// Padding, trailers and any cut into segments leave the result alone.
func TestParseRandomFlows(t *testing.T) {
	r := newRand(t)
	var used packet.UDP // Decode must leave nothing of the frame before
	for range 3000 {
		cfg := randomFlow(r)
		payload := randomBytes(r, r.IntN(100))
		plain := oracleFrame(t, cfg, payload)
		padded := append(slices.Clone(plain), randomBytes(r, r.IntN(30))...)
		for _, frame := range [][]byte{plain, padded} {
			got, reason := packet.Parse(frame)
			if reason != packet.OK {
				t.Fatalf("% x: %v", frame, reason)
			}
			if again := used.Decode(frame, len(frame)); again != packet.OK || used != got {
				t.Fatalf("% x into a used value: %v\n%s", frame, again, diff(got, used))
			}
			if d := diff(want(cfg, plain), got); d != "" {
				t.Fatalf("% x:\n%s", frame, d)
			}
			if !slices.Equal(got.Payload(frame), payload) {
				t.Fatalf("payload % x, want % x", got.Payload(frame), payload)
			}
			if v := got.Verify(frame); v != packet.Good {
				t.Fatalf("% x: checksum %v", frame, v)
			}
			cut := r.IntN(len(frame) + 1)
			first, split := packet.ParseTotal(frame[:cut], len(frame))
			if cut < got.Offset {
				if split != packet.SplitHeaders || first != (packet.UDP{}) {
					t.Fatalf("% x cut at %d: %+v, %v", frame, cut, first, split)
				}
				continue
			}
			if split != packet.OK || first != got {
				t.Fatalf("% x cut at %d: %+v, %v", frame, cut, first, split)
			}
			if v := first.Verify(frame[:cut], frame[cut:]); v != packet.Good {
				t.Fatalf("% x cut at %d: checksum %v", frame, cut, v)
			}
		}
	}
}

// Every reason, and that each is met by the frame made for it.
func TestParseReasons(t *testing.T) {
	four := oracleFrame(t, flow4(), []byte("payload"))
	six := oracleFrame(t, flow6(), []byte("payload"))
	tag := oracleFrame(t, tagged(flow4(), 100), []byte("payload"))
	tests := map[packet.Reason][]byte{
		packet.OK:              four,
		packet.Truncated:       four[:len(four)-1],
		packet.DoubleTag:       edit(tag, put16(16, 0x8100)),
		packet.NotIP:           edit(four, put16(12, 0x0806)),
		packet.BadVersion:      edit(four, func(b []byte) { b[14] = 0x65 }),
		packet.BadHeaderLength: edit(four, func(b []byte) { b[14] = 0x44 }),
		packet.BadIPChecksum:   edit(four, func(b []byte) { b[24]++ }),
		packet.BadIPLength:     edit4(four, put16(16, 19)),
		packet.BadSource:       edit4(four, func(b []byte) { b[26] = 239 }),
		packet.Fragment:        edit4(four, put16(20, 0x2000)),
		packet.Options:         withOptions(four, 1, nil),
		packet.ExtensionHeader: edit(six, func(b []byte) { b[20] = 60 }),
		packet.NotUDP:          edit4(four, func(b []byte) { b[23] = 6 }),
		packet.BadUDPLength:    edit(four, put16(38, 7)),
		packet.ZeroChecksum:    edit(six, put16(60, 0)),
	}
	for reason := range packet.Reason(packet.NumReasons) {
		frame, ok := tests[reason]
		if !ok {
			if reason != packet.SplitHeaders { // only ParseTotal gives it: tested there
				t.Errorf("no frame for %v", reason)
			}
			continue
		}
		u, got := packet.Parse(frame)
		if got != reason {
			t.Errorf("frame for %v: got %v", reason, got)
		}
		if got != packet.OK && u != (packet.UDP{}) {
			t.Errorf("%v: the value is not zero: %+v", got, u)
		}
	}
}

// More frames for reasons that have several causes.
func TestParseMoreReasons(t *testing.T) {
	four := oracleFrame(t, flow4(), []byte("payload"))
	six := oracleFrame(t, flow6(), []byte("payload"))
	tests := []struct {
		name  string
		frame []byte
		want  packet.Reason
	}{
		{"802.3 length", edit(four, put16(12, 46)), packet.NotIP},
		{"last fragment", edit4(four, put16(20, 185)), packet.Fragment},
		{"reserved flag alone", edit4(four, put16(20, 0x8000)), packet.OK},
		{"fragment and options", edit4(withOptions(four, 2, nil), put16(20, 0x2000)), packet.Fragment},
		{"broadcast source", edit4(four, func(b []byte) { copy(b[26:30], "\xff\xff\xff\xff") }), packet.BadSource},
		{"class E source", edit4(four, func(b []byte) { b[26] = 240 }), packet.OK},
		{"options beyond the frame", edit(four[:40], func(b []byte) { b[14] = 0x4f }), packet.Truncated},
		{"IPv6 multicast source", edit(six, func(b []byte) { b[22] = 0xff }), packet.BadSource},
		{"IPv6 in IPv4", edit(six, put16(12, 0x0800)), packet.BadVersion},
		{"IPv4 in IPv6", edit(six, func(b []byte) { b[14] = 0x45 }), packet.BadVersion},
		{"IPv6 length beyond the frame", edit(six, put16(18, 16)), packet.Truncated},
		{"IPv6 length 0", edit(six, put16(18, 0)), packet.BadUDPLength},
		{"IPv6 length below a UDP header", edit(six, put16(18, 7)), packet.BadUDPLength},
		{"ICMPv6", edit(six, func(b []byte) { b[20] = 58 }), packet.NotUDP},
		{"no next header", edit(six, func(b []byte) { b[20] = 59 }), packet.NotUDP},
		{"UDP-Lite", edit(six, func(b []byte) { b[20] = 136 }), packet.NotUDP},
		{"empty", nil, packet.Truncated},
	}
	for _, test := range tests {
		if _, got := packet.Parse(test.frame); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// UDP over IPv6 with a length of 0 is "all of the IP payload" to the kernel, in
// a datagram of any size, and the checksum counts the real length.
func TestParseIPv6LengthZero(t *testing.T) {
	payload := []byte("whole payload")
	frame := edit(oracleFrame(t, flow6(), payload), func(b []byte) {
		binary.BigEndian.PutUint16(b[58:], 0)
		check := binary.BigEndian.Uint16(b[60:])
		// The header's length went from n to 0, the pseudo-header's stays.
		binary.BigEndian.PutUint16(b[60:], packet.Update(check, uint16(len(payload)+8), 0))
	})
	frame = append(frame, "trailer"...)
	u, reason := packet.Parse(frame)
	if reason != packet.OK || string(u.Payload(frame)) != string(payload) {
		t.Fatalf("%v, payload %q", reason, u.Payload(frame))
	}
	if v := u.Verify(frame); v != packet.Good {
		t.Errorf("checksum %v", v)
	}
	four := edit(oracleFrame(t, flow4(), payload), put16(38, 0))
	if _, reason := packet.Parse(four); reason != packet.BadUDPLength {
		t.Errorf("IPv4 with UDP length 0: %v", reason)
	}
}

// A caller's wrong total or a value that describes another frame must not lead
// outside the bytes.
func TestParseTotalOutOfRange(t *testing.T) {
	frame := oracleFrame(t, flow4(), make([]byte, 100))
	for _, total := range []int{math.MinInt, -1, 0, 13, 14, 41, 141} {
		if _, r := packet.ParseTotal(frame, total); r != packet.Truncated {
			t.Errorf("total %d: %v", total, r)
		}
	}
	u, _ := packet.Parse(frame)
	for n := range frame {
		short := frame[:n]
		if p := u.Payload(short); len(p) != max(0, n-u.Offset) {
			t.Errorf("payload of %d bytes of frame: %d", n, len(p))
		}
		if v := u.Verify(short); v != packet.Bad {
			t.Errorf("checksum of %d bytes of frame: %v", n, v)
		}
	}
	for _, made := range []packet.UDP{{Offset: -1, Length: 5}, {Offset: 42, Length: math.MaxInt}, {Offset: 42, Length: math.MinInt}} {
		if p := made.Payload(frame); len(p) != 0 {
			t.Errorf("payload at %d + %d: %d bytes", made.Offset, made.Length, len(p))
		}
		if v := made.Verify(frame); v != packet.Bad {
			t.Errorf("checksum at %d + %d: %v", made.Offset, made.Length, v)
		}
	}
	var zero packet.UDP
	if zero.Payload(frame) == nil || len(zero.Payload(frame)) != 0 {
		t.Errorf("payload of the zero value: % x", zero.Payload(frame))
	}
	if v := zero.Verify(frame); v != packet.Bad {
		t.Errorf("checksum of the zero value: %v", v)
	}
}

func TestReasonNames(t *testing.T) {
	seen := map[string]packet.Reason{}
	for r := range packet.Reason(packet.NumReasons) {
		name := r.String()
		if other, ok := seen[name]; ok || name == "" || name == "unknown" {
			t.Errorf("reason %d is called %q, as is %d", r, name, other)
		}
		seen[name] = r
	}
	if got := packet.Reason(200).String(); got != "unknown" {
		t.Errorf("reason 200 is called %q", got)
	}
}
