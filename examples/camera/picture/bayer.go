// SPDX-License-Identifier: MIT

package picture

import (
	"image"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// corner is where red is in each square of two by two pixels, blue is opposite, and
// the other two are green.
func corner(f gv.PixelFormat) (x, y int) {
	switch f {
	case gv.BayerGR8:
		return 1, 0
	case gv.BayerGB8:
		return 0, 1
	case gv.BayerBG8:
		return 1, 1
	}
	return 0, 0
}

// bayer makes colours of pixels that have one each: what a pixel lacks is the mean of
// those around it that have it.
func (r raw) bayer(bounds image.Rectangle) image.Image {
	g := image.NewGray(bounds)
	r.lines(func(y int, line []byte) { copy(g.Pix[y*g.Stride:], line) })
	p := opaque(bounds)
	rx, ry := corner(r.PixelFormat)
	w, h := bounds.Dx(), bounds.Dy()
	at := func(x, y int) int { return int(g.Pix[mirror(y, h)*g.Stride+mirror(x, w)]) }
	for y := range h {
		for x := range w {
			own := at(x, y)
			cross := (at(x-1, y) + at(x+1, y) + at(x, y-1) + at(x, y+1)) / 4
			diagonal := (at(x-1, y-1) + at(x+1, y-1) + at(x-1, y+1) + at(x+1, y+1)) / 4
			beside, above := (at(x-1, y)+at(x+1, y))/2, (at(x, y-1)+at(x, y+1))/2
			var red, green, blue int
			switch inRed, inRow := (x-rx)%2 == 0, (y-ry)%2 == 0; {
			case inRed && inRow:
				red, green, blue = own, cross, diagonal
			case !inRed && !inRow:
				red, green, blue = diagonal, cross, own
			case inRow: // green, with red beside and blue above
				red, green, blue = beside, own, above
			default:
				red, green, blue = above, own, beside
			}
			o := p.PixOffset(x, y)
			p.Pix[o], p.Pix[o+1], p.Pix[o+2] = byte(red), byte(green), byte(blue)
		}
	}
	return p
}

// mirror keeps a place within n, without changing whether it is even.
func mirror(i, n int) int {
	switch {
	case n == 1:
		return 0
	case i < 0:
		return -i
	case i >= n:
		return 2*n - 2 - i
	}
	return i
}
