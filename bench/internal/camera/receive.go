// SPDX-License-Identifier: MIT

package camera

import (
	"context"
	"time"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Got is what a receiver made of a window.
type Got struct {
	Complete uint64 // images
	Wrong    uint64 // images with all their datagrams, and other pixels
	Late     uint64 // datagrams that came after their image was given up
	Tally    stream.Tally
	Elapsed  time.Duration // from the first datagram to the last
}

// Assemble receives datagrams until ctx is done and then until no more come, and puts
// images of them. Two images may be open at a time: one that is not complete when
// the next but one begins never will be. It allocates nothing a datagram.
func Assemble(ctx context.Context, r stream.Receiver, scene *Scene, shape Shape, run uint32, batch int) (Got, error) {
	a := newAssembler(scene, shape, run)
	segmenter, _ := r.(stream.Segmenter)
	elapsed, err := stream.Take(ctx, r, batch, func(views [][]byte) uint64 {
		for i, v := range views {
			var rest [][]byte
			if segmenter != nil && len(v) < shape.Size {
				rest = segmenter.Rest(i)
			}
			a.add(v, rest)
		}
		return a.tracker.Received()
	})
	a.got.Elapsed = elapsed
	a.got.Tally.Received, a.got.Tally.Duplicated, a.got.Tally.Reordered = a.tracker.Received(), a.tracker.Duplicated(), a.tracker.Reordered()
	return a.got, err
}

// open is how many images are open at a time.
const open = 2

// A frame is an image that is being put together.
type frame struct {
	image   int64 // -1: none
	pixels  []byte
	have    []bool // by packet
	missing int
}

// begin makes f the frame of another image.
func (f *frame) begin(image int64) {
	f.image, f.missing = image, len(f.have)
	clear(f.have)
}

// An assembler is the state of one Assemble.
type assembler struct {
	scene   *Scene
	shape   Shape
	packets int
	pixels  int // of a datagram
	run     uint32
	newest  int64
	frames  [open]frame // image i in frame i mod open
	tracker stream.Tracker
	got     Got
}

func newAssembler(scene *Scene, shape Shape, run uint32) *assembler {
	a := &assembler{scene: scene, shape: shape, packets: shape.Packets(), pixels: shape.Pixels(), run: run, newest: -1}
	for i := range a.frames {
		a.frames[i] = frame{image: -1, pixels: make([]byte, shape.Padded()), have: make([]bool, a.packets)}
	}
	return a
}

// add puts a datagram in its place. All of it is read, but what is no part of an
// image that is open.
func (a *assembler) add(first []byte, rest [][]byte) {
	h, ok := parse(first)
	if !ok || h.run != a.run || int(h.packet) >= a.packets {
		a.got.Tally.Foreign++
		return
	}
	n := len(first)
	for _, s := range rest {
		n += len(s)
	}
	if n != a.shape.Size {
		a.got.Tally.Truncated++
		return
	}
	if !a.tracker.Add(uint64(h.image)*uint64(a.packets) + uint64(h.packet)) {
		a.got.Tally.Foreign++
		return
	}
	f := a.frame(int64(h.image))
	if f == nil {
		a.got.Late++
		return
	}
	if f.have[h.packet] {
		return // the tracker has counted it
	}
	at := f.pixels[int(h.packet)*a.pixels:]
	k := copy(at, first[HeaderSize:])
	for _, s := range rest {
		k += copy(at[k:], s)
	}
	f.have[h.packet] = true
	if f.missing--; f.missing == 0 {
		a.complete(f)
	}
}

// frame returns that of an image, and nil if that has been given up. A newer image
// takes the frame of the last but one before it.
func (a *assembler) frame(image int64) *frame {
	f := &a.frames[image%open]
	switch {
	case image <= a.newest-open:
		return nil
	case f.image == image:
		return f
	}
	a.newest = max(a.newest, image)
	f.begin(image)
	return f
}

// complete reads an image of which all datagrams have come.
func (a *assembler) complete(f *frame) {
	if a.scene.Shows(f.pixels, uint32(f.image)) {
		a.got.Complete++
	} else {
		a.got.Wrong++
	}
}
