// SPDX-License-Identifier: MIT

package gv

import (
	"fmt"
	"math"
	"math/bits"
)

// PixelFormat is a format's number in the pixel format naming convention, which
// has the bits of a pixel in it.
type PixelFormat uint32

const (
	Mono8    PixelFormat = 0x01080001
	Mono10   PixelFormat = 0x01100003
	Mono12   PixelFormat = 0x01100005
	Mono16   PixelFormat = 0x01100007
	BayerGR8 PixelFormat = 0x01080008
	BayerRG8 PixelFormat = 0x01080009
	BayerGB8 PixelFormat = 0x0108000a
	BayerBG8 PixelFormat = 0x0108000b
	RGB8     PixelFormat = 0x02180014
	BGR8     PixelFormat = 0x02180015
)

var pixelNames = map[PixelFormat]string{
	Mono8: "Mono8", Mono10: "Mono10", Mono12: "Mono12", Mono16: "Mono16",
	BayerGR8: "BayerGR8", BayerRG8: "BayerRG8", BayerGB8: "BayerGB8", BayerBG8: "BayerBG8",
	RGB8: "RGB8", BGR8: "BGR8",
}

// Bits is how many bits a pixel takes.
func (p PixelFormat) Bits() int { return int(p >> 16 & 0xff) }

// Bytes is how many bytes an image takes whose lines are not padded. What no number
// can tell is [math.MaxInt64], so that sizes from the wire can be compared safely.
func (p PixelFormat) Bytes(width, height uint32) int64 {
	hi, lo := bits.Mul64(uint64(width)*uint64(height), uint64(p.Bits()))
	if hi != 0 || lo > math.MaxInt64-7 {
		return math.MaxInt64
	}
	return int64((lo + 7) / 8)
}

func (p PixelFormat) String() string {
	if name, ok := pixelNames[p]; ok {
		return name
	}
	return fmt.Sprintf("pixel format %#08x", uint32(p))
}

// ParsePixelFormat finds a format by its name.
func ParsePixelFormat(name string) (PixelFormat, error) {
	for p, n := range pixelNames {
		if n == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("gv: pixel format %q: unknown", name)
}
