// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestPayloadBytes pins the format: the other end of the wire may be another
// machine of another byte order.
func TestPayloadBytes(t *testing.T) {
	gen := NewGenerator(24, 0x01020304)
	got := make([]byte, 24)
	gen.Write(got, 0x1112131415161718)
	const want = "1112131415161718" + "01020304" + "00000018" + "63cf8a67537b37e3"
	if hex.EncodeToString(got) != want {
		t.Errorf("payload %x, want %s", got, want)
	}
}

// TestPayloadWritesAll proves that nothing of what was in the buffer stays: a
// path must not save the work of writing.
func TestPayloadWritesAll(t *testing.T) {
	for _, size := range []int{16, 17, 64, 1472} {
		gen := NewGenerator(size, 7)
		a, b := bytes.Repeat([]byte{0x00}, size), bytes.Repeat([]byte{0xff}, size)
		gen.Write(a, 42)
		gen.Write(b, 42)
		if !bytes.Equal(a, b) {
			t.Errorf("size %d: what was in the buffer shows", size)
		}
	}
}

// slowSum is what sum computes, byte by byte.
func slowSum(b []byte) uint64 {
	var s uint64
	for i, c := range b {
		s += uint64(c) << (8 * (i % 8))
	}
	return s
}

func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 300)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	for n := range len(b) {
		if got, want := Sum(b[:n]), slowSum(b[:n]); got != want {
			t.Fatalf("%d bytes: sum %#x, want %#x", n, got, want)
		}
	}
}

func TestChecker(t *testing.T) {
	const size, run = 64, 3
	gen := NewGenerator(size, run)
	make := func(seq uint64, change func([]byte)) []byte {
		p := make([]byte, size, size+1)
		gen.Write(p, seq)
		change(p)
		return p
	}
	keep := func([]byte) {}
	tests := []struct {
		name    string
		payload []byte
		want    Tally
	}{
		{"good", make(0, keep), Tally{Received: 1}},
		{"empty", nil, Tally{Foreign: 1}},
		{"shorter than a header", make(0, keep)[:15], Tally{Foreign: 1}},
		{"cut", make(0, keep)[:40], Tally{Truncated: 1}},
		{"too long", append(make(0, keep), 0), Tally{Truncated: 1}},
		{"another run", make(0, func(p []byte) { binary.BigEndian.PutUint32(p[8:], run+1) }), Tally{Foreign: 1}},
		{"another size", make(0, func(p []byte) { binary.BigEndian.PutUint32(p[12:], size+1) }), Tally{Foreign: 1}},
		{"first byte of body", make(0, func(p []byte) { p[16]++ }), Tally{Corrupt: 1}},
		{"last byte of body", make(0, func(p []byte) { p[63]++ }), Tally{Corrupt: 1}},
		{"impossible number", make(1<<63, keep), Tally{Foreign: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewChecker(size, run)
			c.Add(tt.payload)
			if got := c.Tally(); got != tt.want {
				t.Errorf("tally %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestCheckerSegments cuts payloads anywhere.
func TestCheckerSegments(t *testing.T) {
	const size, run = 100, 3
	gen, c := NewGenerator(size, run), NewChecker(size, run)
	p, seq := make([]byte, size), uint64(0)
	for i := HeaderSize; i <= size; i++ {
		for j := i; j <= size; j++ {
			gen.Write(p, seq)
			c.Add(p[:i], p[i:j], nil, p[j:])
			seq++
		}
	}
	if got, want := c.Tally(), (Tally{Received: seq}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
	for at := HeaderSize; at < size; at++ {
		gen.Write(p, seq)
		p[at]++
		c.Add(p[:33], p[33:70], p[70:])
	}
	c.Add(p[:33], p[33:70])
	c.Add(p[:33], p[33:], p[:1])
	want := Tally{Received: seq, Corrupt: size - HeaderSize, Truncated: 2}
	if got := c.Tally(); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

func TestNoAllocation(t *testing.T) {
	gen, c := NewGenerator(64, 1), NewChecker(64, 1)
	p := make([]byte, 64)
	seq := uint64(0)
	c.Add(p) // the first page
	got := testing.AllocsPerRun(3*pageLen, func() {
		gen.Write(p, seq)
		c.Add(p)
		seq++
	})
	if got != 0 {
		t.Errorf("%v allocations a datagram", got)
	}
	if c.Tally().Received < 3*pageLen {
		t.Errorf("received %+v", c.Tally())
	}
}

func BenchmarkWork(b *testing.B) {
	for _, size := range []int{64, 1472} {
		gen, c := NewGenerator(size, 1), NewChecker(size, 1)
		p := make([]byte, size)
		seq := uint64(0)
		b.Run("write/size="+itoa(size), func(b *testing.B) {
			for b.Loop() {
				gen.Write(p, seq)
				seq++
			}
		})
		b.Run("check/size="+itoa(size), func(b *testing.B) {
			next := c.Tally().Received
			for b.Loop() {
				binary.BigEndian.PutUint64(p, next)
				c.Add(p)
				next++
			}
		})
	}
}
