// SPDX-License-Identifier: MIT

package device

import (
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// The camera's own registers, which camera.xml describes. Those of width and format
// are what every camera has, under addresses of its own.
const (
	ownBase = 0xa000

	regWidth       = ownBase + 0x00
	regHeight      = ownBase + 0x04
	regFormat      = ownBase + 0x08
	regPayloadSize = ownBase + 0x0c // bytes of an image; read only
	regRate        = ownBase + 0x10 // images in 1000 seconds
	regAcquisition = ownBase + 0x14 // 1 starts, 0 stops
	regWidthMax    = ownBase + 0x18
	regHeightMax   = ownBase + 0x1c

	ownEnd  = ownBase + 0x20
	bootEnd = 0x1000
	xmlBase = 0x10000
)

// description is the XML that a viewer reads to know the camera's features.
//
//go:embed camera.xml
var description []byte

// registers is the camera's memory as commands see it: bootstrap registers, its own
// ones, and the XML. It only remembers; what registers mean is in control.
type registers struct {
	boot [bootEnd]byte
	own  [ownEnd - ownBase]byte
	xml  []byte // padded to a multiple of 4
}

func newRegisters() *registers {
	padded := make([]byte, (len(description)+3)&^3)
	copy(padded, description)
	r := &registers{xml: padded}
	url := fmt.Sprintf("Local:///camera.xml;%X;%X", xmlBase, len(description))
	copy(r.boot[gv.RegURL:gv.RegURL2], url)
	return r
}

// span is n bytes of memory from an address on, nil if there is no such memory.
func (r *registers) span(at uint32, n int) []byte {
	for _, part := range []struct {
		base  uint32
		bytes []byte
	}{{0, r.boot[:]}, {ownBase, r.own[:]}, {xmlBase, r.xml}} {
		if at >= part.base && uint64(at-part.base)+uint64(n) <= uint64(len(part.bytes)) {
			off := at - part.base
			return part.bytes[off : off+uint32(n)]
		}
	}
	return nil
}

// get reads a register that exists.
func (r *registers) get(at uint32) uint32 { return binary.BigEndian.Uint32(r.span(at, 4)) }

// set writes a register that exists.
func (r *registers) set(at, v uint32) { binary.BigEndian.PutUint32(r.span(at, 4), v) }
