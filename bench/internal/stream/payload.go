// SPDX-License-Identifier: MIT

package stream

import (
	"encoding/binary"
	"math/rand/v2"
)

// HeaderSize is the number of bytes at the start of each payload that the
// bench uses for itself. It is also the smallest payload.
const HeaderSize = 16

// A Generator writes the payloads of one window.
//
// It is for one goroutine.
type Generator struct {
	template []byte
}

// NewGenerator returns a generator for payloads of size bytes, at least
// HeaderSize, that carry the given run number.
func NewGenerator(size int, run uint32) Generator {
	t := make([]byte, size)
	binary.BigEndian.PutUint32(t[8:], run)
	binary.BigEndian.PutUint32(t[12:], uint32(size))
	copy(t[HeaderSize:], body(size))
	return Generator{template: t}
}

// Write writes the payload with sequence number seq to dst, which must hold
// the generator's size. It writes every byte, whatever was there before:
// the cost of making a payload is the same for each path.
func (g *Generator) Write(dst []byte, seq uint64) {
	copy(dst, g.template)
	binary.BigEndian.PutUint64(dst, seq)
}

// body returns the bytes that follow the header in a payload of size bytes.
// Both ends derive them from the size alone.
func body(size int) []byte {
	rng := rand.New(rand.NewPCG(uint64(size), 0))
	b := make([]byte, size-HeaderSize)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Sum adds up b as little-endian words of 64 bits, with the last word padded
// by zeros. It reads each byte once. The four accumulators let the additions
// of one round run side by side; the result is the same on every machine.
func Sum(b []byte) uint64 {
	var s0, s1, s2, s3 uint64
	for len(b) >= 32 {
		s0 += binary.LittleEndian.Uint64(b)
		s1 += binary.LittleEndian.Uint64(b[8:])
		s2 += binary.LittleEndian.Uint64(b[16:])
		s3 += binary.LittleEndian.Uint64(b[24:])
		b = b[32:]
	}
	for len(b) >= 8 {
		s0 += binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	for i, c := range b {
		s1 += uint64(c) << (8 * i)
	}
	return s0 + s1 + s2 + s3
}

// sumAt is what b, at the given place in a body, adds to the body's sum.
func sumAt(b []byte, at int) uint64 {
	var s uint64
	for ; at%8 != 0 && len(b) > 0; at, b = at+1, b[1:] {
		s += uint64(b[0]) << (8 * (at % 8))
	}
	return s + Sum(b)
}
