// SPDX-License-Identifier: MIT

package gv

import (
	"encoding/binary"
	"fmt"
	"math"
)

// PayloadImage is the payload type of a plain image, in a leader and a trailer.
const PayloadImage = 1

// Lengths of the bodies of an image's leader and trailer.
const (
	LeaderLen  = 36
	TrailerLen = 8
)

// Leader describes the image that follows it.
type Leader struct {
	PayloadType   uint16
	Timestamp     uint64 // in ticks of the camera's clock, see RegTicksHigh
	PixelFormat   PixelFormat
	Width, Height uint32 // pixels
	X, Y          uint32 // of its corner on the sensor
	PadX, PadY    uint16 // bytes after each line, and after the image
}

// Put writes the body of a leader packet to b, which must have room for [LeaderLen]
// bytes, and returns its length.
func (l Leader) Put(b []byte) int {
	binary.BigEndian.PutUint16(b, 0)
	binary.BigEndian.PutUint16(b[2:], l.PayloadType)
	binary.BigEndian.PutUint64(b[4:], l.Timestamp)
	for i, w := range []uint32{uint32(l.PixelFormat), l.Width, l.Height, l.X, l.Y} {
		binary.BigEndian.PutUint32(b[12+4*i:], w)
	}
	binary.BigEndian.PutUint16(b[32:], l.PadX)
	binary.BigEndian.PutUint16(b[34:], l.PadY)
	return LeaderLen
}

// Bytes is how long the image is, padding included: [math.MaxInt64] if no number can
// tell.
func (l Leader) Bytes() int64 {
	n, pad := l.PixelFormat.Bytes(l.Width, l.Height), int64(l.Height)*int64(l.PadX)+int64(l.PadY)
	if n > math.MaxInt64-pad {
		return math.MaxInt64
	}
	return n + pad
}

// ParseLeader reads the body of an image's leader packet. What follows is not looked
// at: other payload types, and cameras, have more there.
//
// Errors: [ErrMalformed].
func ParseLeader(b []byte) (Leader, error) {
	if len(b) < LeaderLen {
		return Leader{}, fmt.Errorf("gv: leader of %d bytes, want %d: %w", len(b), LeaderLen, ErrMalformed)
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	return Leader{
		PayloadType: binary.BigEndian.Uint16(b[2:]), Timestamp: binary.BigEndian.Uint64(b[4:]),
		PixelFormat: PixelFormat(word(12)), Width: word(16), Height: word(20), X: word(24), Y: word(28),
		PadX: binary.BigEndian.Uint16(b[32:]), PadY: binary.BigEndian.Uint16(b[34:]),
	}, nil
}

// Trailer ends an image.
type Trailer struct {
	PayloadType uint16
	Height      uint32 // lines that were sent
}

// Put writes the body of a trailer packet to b, which must have room for
// [TrailerLen] bytes, and returns its length.
func (t Trailer) Put(b []byte) int {
	binary.BigEndian.PutUint16(b, 0)
	binary.BigEndian.PutUint16(b[2:], t.PayloadType)
	binary.BigEndian.PutUint32(b[4:], t.Height)
	return TrailerLen
}

// ParseTrailer reads the body of an image's trailer packet.
//
// Errors: [ErrMalformed].
func ParseTrailer(b []byte) (Trailer, error) {
	if len(b) < TrailerLen {
		return Trailer{}, fmt.Errorf("gv: trailer of %d bytes, want %d: %w", len(b), TrailerLen, ErrMalformed)
	}
	return Trailer{binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[4:])}, nil
}
