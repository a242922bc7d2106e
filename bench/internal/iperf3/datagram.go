// SPDX-License-Identifier: MIT

package iperf3

import (
	"encoding/binary"
	"time"
)

// Bytes of the header of a datagram, by the width of its counter.
const (
	HeaderSize     = 12
	WideHeaderSize = 16
)

// Header begins each datagram:
//
//	seconds u32, microseconds u32, counter u32 or u64   all big-endian
//
// The time is the sender's, of any origin: only differences count.
type Header struct {
	Sent    time.Duration
	Counter uint64 // from 1 on
}

// Put writes the header at the start of b, which is long enough, with a counter of 64
// bits or of 32. It returns the rest of b.
func (h Header) Put(b []byte, wide bool) []byte {
	binary.BigEndian.PutUint32(b, uint32(h.Sent/time.Second))
	binary.BigEndian.PutUint32(b[4:], uint32(h.Sent%time.Second/time.Microsecond))
	if wide {
		binary.BigEndian.PutUint64(b[8:], h.Counter)
		return b[WideHeaderSize:]
	}
	binary.BigEndian.PutUint32(b[8:], uint32(h.Counter))
	return b[HeaderSize:]
}

// ParseHeader reads it; ok is false for a datagram that is too short.
func ParseHeader(b []byte, wide bool) (h Header, ok bool) {
	if len(b) < HeaderSize || wide && len(b) < WideHeaderSize {
		return Header{}, false
	}
	sec, usec := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	h.Sent = time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond
	if wide {
		h.Counter = binary.BigEndian.Uint64(b[8:])
	} else {
		h.Counter = uint64(binary.BigEndian.Uint32(b[8:]))
	}
	return h, true
}

// helloSize is the size of the datagrams by which a stream begins.
const helloSize = 4

// What they hold, in the byte order of whoever sends them, which is not told: read the
// other way round, the one is the other. Older versions of iperf 3 send other numbers.
// So neither side looks at which of them it is, and neither has to: it is the first
// datagram from its address. Saying one of them twice would be taken for data.
const (
	hello      = 0x36373839
	helloOld   = 123456789
	welcome    = 0x39383736
	welcomeOld = 987654321
)

// isGreeting tells the datagrams by which a stream begins.
func isGreeting(b []byte) bool {
	if len(b) != helloSize {
		return false
	}
	for _, v := range []uint32{binary.LittleEndian.Uint32(b), binary.BigEndian.Uint32(b)} {
		switch v {
		case hello, helloOld, welcome, welcomeOld:
			return true
		}
	}
	return false
}
