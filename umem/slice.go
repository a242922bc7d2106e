// SPDX-License-Identifier: MIT

package umem

import "fmt"

// Slice is bytes of a Region that are to be sent where they lie: any offset, any
// length. It is a value. Sending only reads them; they must not change until the
// kernel is done with them, see xsk.Socket.Track.
//
// The zero Slice has no bytes.
type Slice struct {
	area *Area
	at   uint64 // in the area
	len  int
}

// Slice returns the n bytes of the region that begin off bytes into it. Bytes
// beyond the region are an error.
func (r *Region) Slice(off, n int) (Slice, error) {
	if off < 0 || n < 0 || off > len(r.bytes) || n > len(r.bytes)-off {
		return Slice{}, fmt.Errorf("umem: slice of %d bytes at %d: the region has %d", n, off, len(r.bytes))
	}
	return Slice{r.area, r.Offset() + uint64(off), n}, nil
}

// Len is the number of bytes.
func (s Slice) Len() int { return s.len }

// Bytes are the bytes, in the region's memory: valid until the area is closed.
func (s Slice) Bytes() []byte {
	if s.len == 0 {
		return nil
	}
	end := s.at + uint64(s.len)
	return s.area.mem[s.at:end:end]
}

// Sub returns n of the slice's bytes, from off on. Bytes beyond it are an error.
func (s Slice) Sub(off, n int) (Slice, error) {
	if off < 0 || n < 0 || off > s.len || n > s.len-off {
		return Slice{}, fmt.Errorf("umem: %d bytes at %d of a slice: it has %d", n, off, s.len)
	}
	return Slice{s.area, s.at + uint64(off), n}, nil
}

// In tells whether the slice is of area a. One without bytes is of any.
func (s Slice) In(a *Area) bool { return s.area == a || s.len == 0 }

// Frames appends to dst the frames that the slice is sent as: one for each chunk
// that it touches, since a descriptor must not cross a chunk's end
// (xp_aligned_validate_desc, net/xdp/xsk_queue.h). They can be sent any number of
// times, and are never given back.
func (s Slice) Frames(dst []Frame) []Frame {
	for at, left := s.at, s.len; left > 0; {
		off := int(at) & (s.area.chunk - 1)
		n := min(left, s.area.chunk-off)
		dst = append(dst, Frame{chunk: uint32(at >> s.area.shift), off: uint32(off), len: uint32(n), area: s.area.id, region: true})
		at, left = at+uint64(n), left-n
	}
	return dst
}

// Regional tells whether the frame is of a region: never to be given back.
func (f Frame) Regional() bool { return f.region }
