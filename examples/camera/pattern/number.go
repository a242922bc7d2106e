// SPDX-License-Identifier: MIT

package pattern

import "strconv"

// digits are 3 x 5 dots each, a line in 3 bits.
var digits = [10][5]byte{
	{7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7}, {5, 5, 7, 1, 1},
	{7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 1, 1}, {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7},
}

const (
	cellWidth, cellHeight = 4, 7 // of a digit with what is around it, in dots
	// corner is where the number begins. It and the size of dots are even, for
	// the sake of Bayer images.
	corner = 8
)

// number writes n in white on black, in a size that goes with the image's. What does
// not fit is cut off.
func (p *Pattern) number(b []byte, n uint64) {
	dot := max(p.height/160*2, 2)
	text := strconv.FormatUint(n, 10)
	for y := range cellHeight * dot {
		for x := range (cellWidth*len(text) + 1) * dot {
			col, row := x/dot-1, y/dot-1
			c := rgb{}
			if col >= 0 && row >= 0 && row < 5 && col%cellWidth < 3 && digits[text[col/cellWidth]-'0'][row]>>(2-col%cellWidth)&1 != 0 {
				c = rgb{255, 255, 255}
			}
			p.dot(b, corner+x, corner+y, c)
		}
	}
}

func (p *Pattern) dot(b []byte, x, y int, c rgb) {
	if x < p.width && y < p.height {
		p.put(b[(y*p.width+x)*p.pixel:], x, y, c)
	}
}
