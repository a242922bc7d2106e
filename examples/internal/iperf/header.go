// SPDX-License-Identifier: MIT

// Package iperf is the format that iperf 2 speaks over UDP, for examples/sink and
// examples/source: so that a stock iperf 2 can be the other end of either.
//
// The sender numbers its datagrams 1, 2, 3 ... and writes when each was sent. All
// numbers are big-endian:
//
//	       0        4        8        12       16       20
//	       +--------+--------+--------+--------+--------+----------
//	header | number | sec    | usec   | number | flags  | filler
//	       | low    | sent at         | high   |        |
//	       +--------+--------+--------+--------+--------+----------
//
// The flags say whether the high half of the number is there; old senders have none.
// The last datagram's number is negative. The receiver answers it with a [Report]
// of what it got, and until that comes the sender repeats it, one number further
// each time and with the time of the first attempt.
//
// Package iperf takes over the format only; it is not iperf, and does a plain test
// in one direction.
package iperf

import (
	"encoding/binary"
	"time"
)

const (
	// HeaderLen is how many bytes [Header.Put] writes: the smallest datagram.
	HeaderLen = 20

	shortHeader = 12 // what old senders write

	// Bits of the flags, of a header and of a report.
	flagNumber64 = 0x08000000 // numbers have their high half
	flagReport   = 0x80000000 // the report is filled in
)

// Header is what each datagram of a test begins with.
type Header struct {
	Number int64     // from 1; negative: the test is over
	Sent   time.Time // by the sender's clock, in microseconds
}

// Last tells whether the sender has no more to send.
func (h Header) Last() bool { return h.Number < 0 }

// Put writes the header to the first [HeaderLen] bytes of b.
func (h Header) Put(b []byte) {
	us := h.Sent.UnixMicro()
	binary.BigEndian.PutUint32(b, uint32(h.Number))
	binary.BigEndian.PutUint32(b[4:], uint32(us/1e6))
	binary.BigEndian.PutUint32(b[8:], uint32(us%1e6))
	binary.BigEndian.PutUint32(b[12:], uint32(h.Number>>32))
	binary.BigEndian.PutUint32(b[16:], flagNumber64)
}

// ParseHeader reads the header of a datagram, and tells whether it is long enough
// to have one. There is nothing else to tell it from any other datagram.
func ParseHeader(b []byte) (Header, bool) {
	if len(b) < shortHeader {
		return Header{}, false
	}
	low := binary.BigEndian.Uint32(b)
	number := int64(int32(low))
	// The flag is in the first of the flags' bytes: a datagram may end there.
	if len(b) > 16 && b[16]&(flagNumber64>>24) != 0 {
		number = int64(binary.BigEndian.Uint32(b[12:]))<<32 | int64(low)
	}
	sec, us := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	return Header{number, time.Unix(int64(sec), int64(us)*1000)}, true
}
