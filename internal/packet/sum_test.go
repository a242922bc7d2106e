// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// Both loops are tested on every machine, whichever of them Sum takes there.
func sums() map[string]func([]byte, uint16) uint16 {
	return map[string]func([]byte, uint16) uint16{"Sum": packet.Sum, "Sum64": packet.Sum64, "Sum32": packet.Sum32}
}

func TestSumLengthsAndAlignments(t *testing.T) {
	r := newRand(t)
	random := make([]byte, 700)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	for _, fill := range [][]byte{random, make([]byte, 700), bytes.Repeat([]byte{0xff}, 700)} {
		for name, sum := range sums() {
			for n := range 600 {
				for _, start := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
					b := fill[start : start+n]
					for _, initial := range []uint16{0, 1, 0xfffe, 0xffff, uint16(r.Uint32())} {
						if got, want := sum(b, initial), naiveSum(b, initial); got != want {
							t.Fatalf("%s of %d bytes from %d, initial %#x: %#x, want %#x", name, n, start, initial, got, want)
						}
					}
				}
			}
		}
	}
}

// The largest datagram and more, all ones: carries everywhere.
func TestSumLarge(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, 1<<20+7)
	for name, sum := range sums() {
		for _, n := range []int{65535, 65536, 1 << 20, len(b)} {
			if got, want := sum(b[:n], 0xffff), naiveSum(b[:n], 0xffff); got != want {
				t.Errorf("%s of %d bytes: %#x, want %#x", name, n, got, want)
			}
		}
	}
}

// RFC 1071 works the sum of these bytes out by hand: ddf2.
func TestSumExampleOfRFC1071(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	for name, sum := range sums() {
		if got := sum(b, 0); got != 0xddf2 {
			t.Errorf("%s: %#x, want 0xddf2", name, got)
		}
	}
}

func TestSumSegments(t *testing.T) {
	b := make([]byte, 40)
	for i := range b {
		b[i] = byte(i*37 + 11)
	}
	want := naiveSum(b, 0x1234)
	for i := range len(b) + 1 {
		for j := i; j <= len(b); j++ {
			if got := packet.SumSegments(0x1234, b[:i], b[i:j], nil, b[j:]); got != want {
				t.Fatalf("cut at %d and %d: %#x, want %#x", i, j, got, want)
			}
		}
	}
	if got := packet.SumSegments(7); got != 7 {
		t.Errorf("no segments: %d, want the initial 7", got)
	}
}

// Changing any word of a header and updating must give what computing anew does.
func TestUpdateEqualsComputing(t *testing.T) {
	r := newRand(t)
	header := make([]byte, 20)
	for range 20000 {
		for i := range header {
			header[i] = byte(r.Uint32()) & byte(-(r.Uint32() & 1)) // half of them 0
		}
		header[0] = 0x45 // a header is never all zeros
		binary.BigEndian.PutUint16(header[10:], 0)
		check := ^naiveSum(header, 0)
		at, n := 2*r.IntN(3), 2*(1+r.IntN(2)) // before the checksum itself
		before := packet.Sum(header[at:at+n], 0)
		for i := at; i < at+n; i++ {
			header[i] = byte(r.Uint32())
		}
		header[0] = 0x45
		got := packet.Update(check, before, packet.Sum(header[at:at+n], 0))
		if want := ^naiveSum(header, 0); got != want {
			t.Fatalf("% x, %d bytes at %d, their sum %#x before: %#x, want %#x", header, n, at, before, got, want)
		}
	}
}

// RFC 1624, section 4: the case that equation 4 of RFC 1141 gets wrong.
func TestUpdateExampleOfRFC1624(t *testing.T) {
	if got := packet.Update(0xdd2f, 0x5555, 0x3285); got != 0 {
		t.Errorf("got %#x, want 0", got)
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("a"), uint16(0), uint(0), uint(0))
	f.Add(bytes.Repeat([]byte{0xff}, 300), uint16(0xffff), uint(1), uint(130))
	f.Add([]byte("some odd number of bytes, cut at odd places"), uint16(77), uint(7), uint(16))
	f.Fuzz(func(t *testing.T, b []byte, initial uint16, i, j uint) {
		want := naiveSum(b, initial)
		for name, sum := range sums() {
			if got := sum(b, initial); got != want {
				t.Errorf("%s of %d bytes: %#x, want %#x", name, len(b), got, want)
			}
		}
		i %= uint(len(b)) + 1
		j = i + j%(uint(len(b))-i+1)
		if got := packet.SumSegments(initial, b[:i], b[i:j], b[j:]); got != want {
			t.Errorf("%d bytes cut at %d and %d: %#x, want %#x", len(b), i, j, got, want)
		}
		if got := packet.Sum(b[i&^1:], packet.Sum(b[:i&^1], initial)); got != want {
			t.Errorf("%d bytes chained at %d: %#x, want %#x", len(b), i&^1, got, want)
		}
		// A sum is 0 only for nothing but zeros.
		if zero := initial == 0 && bytes.Count(b, []byte{0}) == len(b); zero != (want == 0) || zero != (packet.Sum(b, initial) == 0) {
			t.Errorf("sum %#x, all zeros: %t", want, zero)
		}
	})
}

// The machine's own order must not matter: the words are read as little-endian
// and the result turned round, on every machine.
func TestSumOrder(t *testing.T) {
	if got := packet.Sum([]byte{0x12, 0x34}, 0); got != 0x1234 {
		t.Errorf("got %#x, want 0x1234 (%d-bit machine)", got, bits.UintSize)
	}
	if got := packet.Sum([]byte{0x12}, 0); got != 0x1200 {
		t.Errorf("got %#x, want 0x1200", got)
	}
}
