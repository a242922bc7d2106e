// SPDX-License-Identifier: MIT

package gv

import (
	"encoding/binary"
	"fmt"
)

// Part tells packets of the stream apart: what is in the body.
type Part uint8

const (
	PartLeader  Part = 1
	PartTrailer Part = 2
	PartPayload Part = 3
	PartAll     Part = 4 // leader, payload and trailer in one
)

const (
	standardLen = 8
	extendedLen = 20
	// extendedBit in the byte of the Part says that ids are extended.
	extendedBit = 0x80
)

// HeaderLen is the length of a packet's header.
func HeaderLen(extended bool) int {
	if extended {
		return extendedLen
	}
	return standardLen
}

// Packet is one packet of the stream.
type Packet struct {
	Status   Status
	Block    uint64 // of the image, from 1
	Kind     Part
	ID       uint32 // of the packet, from 0 in each block
	Extended bool
	Body     []byte // empty if Status is an error
}

// ParsePacket reads a packet of either kind of ids. The body is a part of b, which
// may be only the first bytes of the packet, as long as the header is among them.
//
// Errors: [ErrMalformed].
func ParsePacket(b []byte) (Packet, error) {
	if len(b) < standardLen || b[4]&extendedBit != 0 && len(b) < extendedLen {
		return Packet{}, fmt.Errorf("gv: %d bytes are no packet of a stream: %w", len(b), ErrMalformed)
	}
	p := Packet{Status: Status(binary.BigEndian.Uint16(b)), Kind: Part(b[4] &^ extendedBit), Extended: b[4]&extendedBit != 0}
	if p.Extended {
		p.Block, p.ID, p.Body = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:]), b[extendedLen:]
	} else {
		p.Block, p.ID, p.Body = uint64(binary.BigEndian.Uint16(b[2:])), binary.BigEndian.Uint32(b[4:])&maxPacket, b[standardLen:]
	}
	if p.Block == 0 {
		return Packet{}, fmt.Errorf("gv: packet %d of block 0, which no block is: %w", p.ID, ErrMalformed)
	}
	return p, nil
}

// PutHeader writes the header of p, all but its body, to b, which must have room for
// [HeaderLen] bytes, and returns its length.
func (p Packet) PutHeader(b []byte) int {
	binary.BigEndian.PutUint16(b, uint16(p.Status))
	if !p.Extended {
		binary.BigEndian.PutUint16(b[2:], uint16(p.Block))
		binary.BigEndian.PutUint32(b[4:], uint32(p.Kind)<<24|p.ID&maxPacket)
		return standardLen
	}
	binary.BigEndian.PutUint16(b[2:], 0)
	binary.BigEndian.PutUint32(b[4:], uint32(p.Kind|extendedBit)<<24)
	binary.BigEndian.PutUint64(b[8:], p.Block)
	binary.BigEndian.PutUint32(b[16:], p.ID)
	return extendedLen
}
