// SPDX-License-Identifier: MIT

package picture

import (
	"fmt"
	"image"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// maxSide bounds width and height, so that their product is a number.
const maxSide = 1 << 15

// raw is an image as a camera sends it.
type raw struct {
	gv.Leader
	data []byte
}

// Decode makes a picture, which shares no memory with data. Bytes that are missing at
// the end are black. Pixels of two bytes have the lower one first, as cameras send
// them unless told otherwise.
//
// Errors: a pixel format that it does not know, or a size that makes no sense.
func Decode(l gv.Leader, data []byte) (image.Image, error) {
	r := raw{l, data}
	if l.Width < 1 || l.Height < 1 || l.Width > maxSide || l.Height > maxSide {
		return nil, fmt.Errorf("picture: %d x %d pixels: sides must be 1 to %d", l.Width, l.Height, maxSide)
	}
	bounds := image.Rect(0, 0, int(l.Width), int(l.Height))
	switch l.PixelFormat {
	case gv.Mono8:
		g := image.NewGray(bounds)
		r.lines(func(y int, line []byte) { copy(g.Pix[y*g.Stride:], line) })
		return g, nil
	case gv.Mono10, gv.Mono12, gv.Mono16:
		return r.deep(bounds), nil
	case gv.RGB8, gv.BGR8:
		return r.colour(bounds), nil
	case gv.BayerRG8, gv.BayerGR8, gv.BayerGB8, gv.BayerBG8:
		return r.bayer(bounds), nil
	}
	return nil, fmt.Errorf("picture: %v: not one that can be shown", l.PixelFormat)
}

// lines calls f for each line of which there is something.
func (r raw) lines(f func(y int, line []byte)) {
	n := int(r.PixelFormat.Bytes(r.Width, 1))
	stride := n + int(r.PadX)
	for y := range int(r.Height) {
		at := y * stride
		if at >= len(r.data) {
			return
		}
		f(y, r.data[at:min(at+n, len(r.data))])
	}
}

// significant is how many bits of 16 are in use.
func significant(f gv.PixelFormat) int {
	switch f {
	case gv.Mono10:
		return 10
	case gv.Mono12:
		return 12
	}
	return 16
}

// deep makes a picture of pixels of two bytes.
func (r raw) deep(bounds image.Rectangle) image.Image {
	g := image.NewGray16(bounds)
	bits := significant(r.PixelFormat)
	r.lines(func(y int, line []byte) {
		out := g.Pix[y*g.Stride:]
		for i := 0; i+1 < len(line); i += 2 {
			v := uint16(line[i+1])<<8 | uint16(line[i])
			v = v<<(16-bits) | v>>(2*bits-16) // white stays white
			out[i], out[i+1] = byte(v>>8), byte(v)
		}
	})
	return g
}

func (r raw) colour(bounds image.Rectangle) image.Image {
	p := opaque(bounds)
	red, blue := 0, 2
	if r.PixelFormat == gv.BGR8 {
		red, blue = 2, 0
	}
	r.lines(func(y int, line []byte) {
		out := p.Pix[y*p.Stride:]
		for i := 0; i+2 < len(line); i += 3 {
			o := i / 3 * 4
			out[o], out[o+1], out[o+2] = line[i+red], line[i+1], line[i+blue]
		}
	})
	return p
}

// opaque is a black picture.
func opaque(bounds image.Rectangle) *image.RGBA {
	p := image.NewRGBA(bounds)
	for i := 3; i < len(p.Pix); i += 4 {
		p.Pix[i] = 0xff
	}
	return p
}
