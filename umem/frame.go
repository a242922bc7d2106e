// SPDX-License-Identifier: MIT

package umem

import "fmt"

// Frame is a chunk in use: where its data begins, how long it is, and which use
// of the chunk this is. It is a value: copies name the same chunk, and all of
// them are stale once one of them has been given back or sent.
//
// The zero Frame belongs to no area.
type Frame struct {
	chunk uint32 // number of the chunk in its area
	gen   uint32 // which use of the chunk: compared on every step
	off   uint32 // where the data begins in the chunk
	len   uint32 // how many bytes of data
	area  uint32 // which area
	more  bool   // the packet goes on in the next frame
	meta  bool   // metadata for the device lie before the data
	// region: bytes of a Region, which stay the program's; gen means nothing.
	region bool
}

// Len is the length of the frame's data in bytes.
func (f Frame) Len() int { return int(f.len) }

// WithLen returns the frame with n bytes of data. Whether they fit into the
// chunk is checked where the frame is used.
func (f Frame) WithLen(n int) Frame {
	f.len = uint32(max(n, 0))
	return f
}

// More tells whether the packet that the frame belongs to goes on in the next
// frame: the continuation bit of multi-buffer (XDP_PKT_CONTD).
func (f Frame) More() bool { return f.more }

// WithMore returns the frame with the continuation bit set or cleared.
func (f Frame) WithMore(more bool) Frame {
	f.more = more
	return f
}

// Metadata tells whether the bytes before the frame's data ask the device for
// something: see xsk.PutTxMetadata.
func (f Frame) Metadata() bool { return f.meta }

// WithMetadata returns the frame with or without metadata.
func (f Frame) WithMetadata(meta bool) Frame {
	f.meta = meta
	return f
}

// Offset is where in its chunk the frame's data begins, in bytes.
func (f Frame) Offset() int { return int(f.off) }

// Chunk is the number of the frame's chunk in its area.
func (f Frame) Chunk() int { return int(f.chunk) }

// String names the frame for a person.
func (f Frame) String() string {
	return fmt.Sprintf("frame of chunk %d (area %d, use %d, %d bytes at %d)", f.chunk, f.area, f.gen, f.len, f.off)
}

// At returns the frame with n bytes of data that begin at off in its chunk.
// Whether they fit is checked where the frame is used.
func (f Frame) At(off, n int) Frame {
	f.off, f.len = uint32(max(off, 0)), uint32(max(n, 0))
	return f
}
