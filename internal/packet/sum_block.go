// SPDX-License-Identifier: MIT

package packet

import (
	"encoding/binary"
	"math/bits"
)

// blockBytes is what one round of sumBlocks takes.
const blockBytes = 128

// sumBlocks adds the whole blocks at the start of b to s and returns the sum
// and the rest of b. An addition with carry waits for the one before it, so a
// single chain takes one step a word; the two chains here do not wait for each
// other, and the processor runs both at once.
//
// Adding the last carry cannot wrap: a chain begins without a carry in, so its
// first step cannot end at all ones with a carry out, and none after it can.
func sumBlocks(s uint64, b []byte) (uint64, []byte) {
	var t, c uint64
	for len(b) >= blockBytes {
		w := (*[blockBytes]byte)(b)
		s, c = bits.Add64(s, le64(w[0:8]), 0)
		s, c = bits.Add64(s, le64(w[8:16]), c)
		s, c = bits.Add64(s, le64(w[16:24]), c)
		s, c = bits.Add64(s, le64(w[24:32]), c)
		s, c = bits.Add64(s, le64(w[32:40]), c)
		s, c = bits.Add64(s, le64(w[40:48]), c)
		s, c = bits.Add64(s, le64(w[48:56]), c)
		s, c = bits.Add64(s, le64(w[56:64]), c)
		s += c

		t, c = bits.Add64(t, le64(w[64:72]), 0)
		t, c = bits.Add64(t, le64(w[72:80]), c)
		t, c = bits.Add64(t, le64(w[80:88]), c)
		t, c = bits.Add64(t, le64(w[88:96]), c)
		t, c = bits.Add64(t, le64(w[96:104]), c)
		t, c = bits.Add64(t, le64(w[104:112]), c)
		t, c = bits.Add64(t, le64(w[112:120]), c)
		t, c = bits.Add64(t, le64(w[120:128]), c)
		t += c
		b = b[blockBytes:]
	}
	s, c = bits.Add64(s, t, 0)
	return s + c, b
}

// sum32 is Sum for 32-bit machines, where a 64-bit addition with carry is a
// dozen instructions, but adding 32 bits to 64 is two.
func sum32(b []byte, initial uint16) uint16 {
	s := uint64(bits.ReverseBytes16(initial))
	for len(b) >= 16 {
		w := (*[16]byte)(b)
		// No slice is long enough to carry out of 64 bits.
		s += uint64(binary.LittleEndian.Uint32(w[0:4]))
		s += uint64(binary.LittleEndian.Uint32(w[4:8]))
		s += uint64(binary.LittleEndian.Uint32(w[8:12]))
		s += uint64(binary.LittleEndian.Uint32(w[12:16]))
		b = b[16:]
	}
	for len(b) >= 4 {
		s += uint64(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	return fold64(s + sumTail(b))
}

// sumTail returns up to seven bytes as little-endian words, not folded.
func sumTail(b []byte) (s uint64) {
	if len(b) >= 4 {
		s += uint64(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		s += uint64(binary.LittleEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) >= 1 {
		s += uint64(b[0])
	}
	return s
}
