// SPDX-License-Identifier: MIT

package camera

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Name is what the test is called.
const Name = "camera"

// HeaderSize is the number of bytes before the pixels in each datagram.
const HeaderSize = 20

// format says that ids are extended and that pixels follow.
const format = 0x80 | 3

// MaxImage is the most bytes of an image.
const MaxImage = 256 << 20

// A Shape is how an image is cut.
type Shape struct {
	Image int // bytes of an image
	Size  int // bytes of a datagram, with its header
}

// Validate tells whether an image can be cut like that.
func (s Shape) Validate() error {
	if s.Image < 1 || s.Image > MaxImage {
		return fmt.Errorf("image of %d bytes: must be 1 to %d", s.Image, MaxImage)
	}
	if s.Size <= HeaderSize {
		return fmt.Errorf("datagrams of %d bytes: must be above %d", s.Size, HeaderSize)
	}
	return nil
}

// Pixels is how many bytes of an image each datagram has.
func (s Shape) Pixels() int { return s.Size - HeaderSize }

// Packets is how many datagrams an image makes.
func (s Shape) Packets() int { return (s.Image + s.Pixels() - 1) / s.Pixels() }

// Padded is how many bytes these have room for.
func (s Shape) Padded() int { return s.Packets() * s.Pixels() }

// PutHeader writes the header of one datagram and returns its length.
func PutHeader(b []byte, run, image uint32, packet int) int {
	_ = b[HeaderSize-1]
	binary.BigEndian.PutUint32(b, 0) // status: fine; no flags
	binary.BigEndian.PutUint32(b[4:], format<<24)
	binary.BigEndian.PutUint64(b[8:], uint64(run)<<32|uint64(image))
	binary.BigEndian.PutUint32(b[16:], uint32(packet))
	return HeaderSize
}

// header is what a datagram says of itself.
type header struct{ run, image, packet uint32 }

// parse reads the header of one, and reports false if it is none.
func parse(b []byte) (header, bool) {
	if len(b) < HeaderSize || binary.BigEndian.Uint32(b) != 0 || binary.BigEndian.Uint32(b[4:]) != format<<24 {
		return header{}, false
	}
	return header{
		run: binary.BigEndian.Uint32(b[8:]), image: binary.BigEndian.Uint32(b[12:]), packet: binary.BigEndian.Uint32(b[16:]),
	}, true
}

// The pattern moves by step bytes from image to image and is back after some.
const (
	step   = 64
	phases = 8
)

// A Scene is what the camera sees: a pattern of fixed bytes that moves. Both ends
// derive it from the shape alone.
type Scene struct {
	pattern []byte // Padded, and what it moves by
	padded  int
	sums    [phases]uint64
}

// NewScene returns the scene for images of a shape.
func NewScene(s Shape) *Scene {
	rng := rand.New(rand.NewPCG(uint64(s.Image), uint64(s.Size)))
	c := &Scene{pattern: make([]byte, s.Padded()+step*phases), padded: s.Padded()}
	for i := 0; i+8 <= len(c.pattern); i += 8 {
		binary.BigEndian.PutUint64(c.pattern[i:], rng.Uint64())
	}
	for i := range c.sums {
		c.sums[i] = stream.Sum(c.view(uint32(i)))
	}
	return c
}

func (c *Scene) view(image uint32) []byte {
	at := int(image%phases) * step
	return c.pattern[at : at+c.padded]
}

// Draw writes an image, all of it.
func (c *Scene) Draw(dst []byte, image uint32) { copy(dst, c.view(image)) }

// Shows reads an image and tells whether it is that one.
func (c *Scene) Shows(b []byte, image uint32) bool { return stream.Sum(b) == c.sums[image%phases] }
