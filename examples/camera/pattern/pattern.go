// SPDX-License-Identifier: MIT

// Package pattern draws what the camera of this example sees: diagonal bars that move
// from image to image, and the image's number in a corner.
//
// An image is a pure function of its format, size and number. So a receiver can draw
// it again and tell whether every byte of it has arrived at its place.
//
// Drawing is a copy a line: a line with more bars than the image is wide is made
// once, and each line of an image is a part of it.
//
//	made once    |  bar  |  bar  |  bar  |  bar  |
//	line 0            [------ width ------]
//	line 1              [------ width ------]          each line begins slope later,
//	line 2                [------ width ------]        each image step later
package pattern

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// bar is how wide a bar is in pixels, and there are eight before they repeat.
	bar    = 64
	period = 8 * bar
	// step and slope are even, so that what a pixel of a Bayer image is for, which
	// depends on its place, does not change.
	step  = 4
	slope = 2
)

// Formats are the pixel formats that can be drawn.
var formats = []gv.PixelFormat{gv.Mono8, gv.Mono16, gv.BayerRG8, gv.RGB8}

// Formats lists the pixel formats that can be drawn.
func Formats() []gv.PixelFormat { return slices.Clone(formats) }

// Pattern draws images of one size and format. It is for one goroutine.
type Pattern struct {
	format        gv.PixelFormat
	width, height int
	pixel         int       // bytes
	lines         [2][]byte // for even and odd lines, longer than the image's
}

// New makes a Pattern.
//
// Errors: the format is not one of Formats; width and height must be positive.
func New(format gv.PixelFormat, width, height int) (*Pattern, error) {
	if !slices.Contains(formats, format) {
		return nil, fmt.Errorf("pattern: %v: want one of %v", format, formats)
	}
	if width < 1 || height < 1 {
		return nil, fmt.Errorf("pattern: %d x %d pixels: must be positive", width, height)
	}
	p := &Pattern{format: format, width: width, height: height, pixel: format.Bits() / 8}
	for odd := range p.lines {
		line := make([]byte, (width+period)*p.pixel)
		for x := range width + period {
			p.put(line[x*p.pixel:], x, odd, hue(x))
		}
		p.lines[odd] = line
	}
	return p, nil
}

// Bytes is the length of an image.
func (p *Pattern) Bytes() int { return p.width * p.height * p.pixel }

// Draw draws image number n to b, which must have room for Bytes.
func (p *Pattern) Draw(b []byte, n uint64) {
	b = b[:p.Bytes()]
	stride := p.width * p.pixel
	for y := range p.height {
		at := int((n%period*step + uint64(y)*slope) % period)
		copy(b[y*stride:(y+1)*stride], p.lines[y&1][at*p.pixel:])
	}
	p.number(b, n)
}

// rgb is a colour.
type rgb struct{ r, g, b byte }

// hue is the colour of the bars at x: those of a television's test card, each getting
// darker to its right, so that a byte out of place is seen.
func hue(x int) rgb {
	i, shade := x/bar%8, 255-2*byte(x%bar)
	channel := func(bit int) byte {
		if (7-i)&bit != 0 {
			return shade
		}
		return shade / 16
	}
	return rgb{r: channel(2), g: channel(4), b: channel(1)}
}

// put writes a pixel of the image's format: at x, on an odd or even line.
func (p *Pattern) put(b []byte, x, y int, c rgb) {
	grey := uint16(c.r)*77 + uint16(c.g)*150 + uint16(c.b)*29
	switch p.format {
	case gv.Mono8:
		b[0] = byte(grey >> 8)
	case gv.Mono16:
		binary.LittleEndian.PutUint16(b, grey)
	case gv.RGB8:
		b[0], b[1], b[2] = c.r, c.g, c.b
	case gv.BayerRG8: // RG on even lines, GB on odd ones
		b[0] = [4]byte{c.r, c.g, c.g, c.b}[y&1<<1|x&1]
	}
}
