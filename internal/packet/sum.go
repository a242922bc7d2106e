// SPDX-License-Identifier: MIT

package packet

import (
	"encoding/binary"
	"math/bits"
)

// Sum returns the ones'-complement sum of b, read as big-endian 16-bit words,
// added to initial (RFC 1071). An odd last byte counts as a word's high byte.
// The Internet checksum is the complement of the result.
//
// The result is 0 only if b and initial are all zeros; a sum that is zero
// modulo 65535 is otherwise 0xffff. Sums over even lengths chain by handing
// the result on as initial; for odd lengths see [SumSegments].
func Sum(b []byte, initial uint16) uint16 {
	if bits.UintSize == 32 {
		return sum32(b, initial)
	}
	return sum64(b, initial)
}

// SumSegments returns what [Sum] would return for the segments laid end to
// end. Segments may have any length, odd and zero ones too.
func SumSegments(initial uint16, segments ...[]byte) uint16 {
	sum, odd := initial, false
	for _, s := range segments {
		sum = addSegment(sum, s, odd)
		odd = odd != (len(s)&1 != 0)
	}
	return sum
}

// addSegment adds b to a sum that so far covers an even or odd number of bytes.
// After an odd number, b's first byte completes a word, so that each of its
// bytes sits in the other half of its word: RFC 1071, 2 (B).
func addSegment(sum uint16, b []byte, odd bool) uint16 {
	part := Sum(b, 0)
	if odd {
		part = bits.ReverseBytes16(part)
	}
	return add16(sum, part)
}

// Update returns the checksum after some of the words under it have changed
// from the sum before to the sum after (RFC 1624, equation 3). A single word is
// its own sum; for more, take [Sum] over them, starting at an even offset.
//
// The result can be 0. In a UDP header 0 means "no checksum", so there the
// caller writes 0xffff instead.
func Update(check, before, after uint16) uint16 {
	return ^add16(add16(^check, ^before), after)
}

// add16 adds with the carry going round, as all sums here do.
func add16(a, b uint16) uint16 {
	s := uint32(a) + uint32(b)
	return uint16(s + s>>16)
}

// The loops below read the bytes as little-endian words whatever the machine:
// the order only swaps the halves of the result (RFC 1071, 2 (B)), which fold
// undoes. Compilers make one load of each, on big-endian machines a
// byte-reversed one, and need no alignment.

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// fold64 brings a sum of little-endian words down to one big-endian word. Adding
// the halves crosswise lets the low half's carry run into the high half.
func fold64(s uint64) uint16 {
	s += bits.RotateLeft64(s, 32)
	h := uint32(s >> 32)
	h += bits.RotateLeft32(h, 16)
	return bits.ReverseBytes16(uint16(h >> 16))
}

// sum64 is Sum for machines that add 64 bits with carry.
func sum64(b []byte, initial uint16) uint16 {
	s := uint64(bits.ReverseBytes16(initial))
	var c uint64
	if len(b) < 8 {
		return fold64(s + sumTail(b))
	}
	if n := len(b) % 8; n != 0 {
		// The last n bytes: load the eight that end there and shift out those
		// that the loops below will count. At most 56 bits stay: no carry.
		s += le64(b[len(b)-8:]) >> (64 - 8*uint(n))
	}
	if len(b) >= blockBytes {
		s, b = sumBlocks(s, b)
	}
	if len(b) >= 64 {
		w := (*[64]byte)(b)
		s, c = bits.Add64(s, le64(w[0:8]), 0)
		s, c = bits.Add64(s, le64(w[8:16]), c)
		s, c = bits.Add64(s, le64(w[16:24]), c)
		s, c = bits.Add64(s, le64(w[24:32]), c)
		s, c = bits.Add64(s, le64(w[32:40]), c)
		s, c = bits.Add64(s, le64(w[40:48]), c)
		s, c = bits.Add64(s, le64(w[48:56]), c)
		s, c = bits.Add64(s, le64(w[56:64]), c)
		s += c
		b = b[64:]
	}
	if len(b) >= 32 {
		w := (*[32]byte)(b)
		s, c = bits.Add64(s, le64(w[0:8]), 0)
		s, c = bits.Add64(s, le64(w[8:16]), c)
		s, c = bits.Add64(s, le64(w[16:24]), c)
		s, c = bits.Add64(s, le64(w[24:32]), c)
		s += c
		b = b[32:]
	}
	if len(b) >= 16 {
		s, c = bits.Add64(s, le64(b[0:8]), 0)
		s, c = bits.Add64(s, le64(b[8:16]), c)
		s += c
		b = b[16:]
	}
	if len(b) >= 8 {
		s, c = bits.Add64(s, le64(b), 0)
		s += c
	}
	return fold64(s)
}
