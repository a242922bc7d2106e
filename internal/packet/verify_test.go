// SPDX-License-Identifier: MIT

package packet_test

import (
	"encoding/binary"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// pseudoSum is the sum that a sender leaves in the field for an offload.
func pseudoSum(u packet.UDP) uint16 {
	length := uint16(u.Length + 8)
	sum := naiveSum(u.Src.Addr().AsSlice(), 17)
	sum = naiveSum(u.Dst.Addr().AsSlice(), sum)
	return naiveSum([]byte{byte(length >> 8), byte(length)}, sum)
}

func mustParse(t testing.TB, frame []byte) packet.UDP {
	t.Helper()
	u, reason := packet.Parse(frame)
	if reason != packet.OK {
		t.Fatalf("% x: %v", frame, reason)
	}
	return u
}

// The four verdicts, over both families, tagged and not, whole and cut in three
// at every pair of places behind the headers.
func TestVerify(t *testing.T) {
	payload := []byte("odd number of bytes in here")
	for _, cfg := range []packet.Config{flow4(), flow6(), tagged(flow4(), 5), tagged(flow6(), 5)} {
		good := oracleFrame(t, cfg, payload)
		u := mustParse(t, good)
		field := u.Offset - 2
		frames := map[packet.Verdict][]byte{
			packet.Good:    good,
			packet.Bad:     edit(good, func(b []byte) { b[len(b)-1] ^= 1 }),
			packet.Partial: edit(good, put16(field, pseudoSum(u))),
			packet.None:    edit(good, put16(field, 0)),
		}
		for want, frame := range frames {
			u, reason := packet.Parse(frame)
			if want == packet.None && cfg.Dst.Addr().Is6() {
				if reason != packet.ZeroChecksum {
					t.Errorf("IPv6 without checksum: %v", reason)
				}
				continue
			}
			frame = append(frame, 0xaa) // padding must not count
			end := u.Offset + u.Length
			for i := u.Offset; i <= len(frame); i++ {
				for j := i; j <= len(frame); j++ {
					got := u.Verify(frame[:i], frame[i:j], nil, frame[j:])
					if got != want {
						t.Fatalf("cut at %d and %d: %v, want %v", i, j, got, want)
					}
				}
				if got := u.Verify(frame[:i]); i < end && want != packet.None && got != packet.Bad {
					t.Fatalf("only %d bytes of %d: %v, want bad", i, end, got)
				}
			}
			if got := u.LooksPartial(frame); got != (want == packet.Partial) {
				t.Errorf("%v datagram looks partial: %t", want, got)
			}
		}
	}
}

// A checksum that happens to equal the pseudo-header sum is still a good one.
func TestVerifyGoodThatLooksPartial(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), flow6()} {
		frame := oracleFrame(t, cfg, []byte{0, 0, 'x'})
		u := mustParse(t, frame)
		pseudo := pseudoSum(u)
		// Wanted: ^(pseudo + header + payload) = pseudo. The two zero bytes
		// take what is missing.
		rest := naiveSum(frame[u.Offset-8:u.Offset-2], pseudo)
		rest = naiveSum(frame[u.Offset:], naiveSum([]byte{byte(pseudo >> 8), byte(pseudo)}, rest))
		binary.BigEndian.PutUint16(frame[u.Offset:], ^rest)
		binary.BigEndian.PutUint16(frame[u.Offset-2:], pseudo)
		u = mustParse(t, frame)
		if !u.LooksPartial(frame) {
			t.Fatalf("% x does not look partial", frame)
		}
		if v := u.Verify(frame); v != packet.Good {
			t.Errorf("% x: %v, want good", frame, v)
		}
		frame[len(frame)-1]++
		if v := u.Verify(frame); v != packet.Partial {
			t.Errorf("% x: %v, want partial", frame, v)
		}
	}
}

// 0xffff in the field is a computed 0; the sum comes out the same.
func TestVerifyAllOnes(t *testing.T) {
	for _, cfg := range []packet.Config{flow4(), flow6()} {
		frame := zeroSumFrame(t, cfg)
		u := mustParse(t, frame)
		if u.Checksum != 0xffff {
			t.Fatalf("checksum %#x, want 0xffff", u.Checksum)
		}
		if v := u.Verify(frame); v != packet.Good {
			t.Errorf("%v, want good", v)
		}
	}
}

// zeroSumFrame is a datagram whose computed checksum is 0: its first two payload
// bytes are chosen so.
func zeroSumFrame(t testing.TB, cfg packet.Config) []byte {
	t.Helper()
	frame := oracleFrame(t, cfg, []byte{0, 0, 1, 2, 3})
	check := binary.BigEndian.Uint16(frame[headerLen(cfg)-2:])
	return oracleFrame(t, cfg, []byte{byte(check >> 8), byte(check), 1, 2, 3})
}

func TestVerdictNames(t *testing.T) {
	for v, want := range map[packet.Verdict]string{
		packet.Bad: "bad", packet.Good: "good", packet.None: "none", packet.Partial: "partial", 9: "unknown",
	} {
		if v.String() != want {
			t.Errorf("verdict %d is called %q, want %q", v, v, want)
		}
	}
}
