// SPDX-License-Identifier: MIT

package gv

import (
	"encoding/binary"
	"fmt"
)

// Lengths of the body of a ResendReq, with standard and with extended ids.
const (
	resendLen   = 12
	resendLen64 = 20
	// maxPacket is the largest standard packet id: 24 bits.
	maxPacket = 1<<24 - 1
)

// Resend asks for packets of a block to be sent again, from First to Last. Its
// command is of kind ResendReq, with Flags for flags, and nothing acknowledges it.
type Resend struct {
	Channel     uint16
	Block       uint64
	First, Last uint32
	Extended    bool
}

// Flags are those of the command.
func (r Resend) Flags() uint8 {
	if r.Extended {
		return FlagExtended
	}
	return 0
}

// Put writes the body of the command to b, which must have room for 20 bytes, and
// returns its length.
func (r Resend) Put(b []byte) int {
	binary.BigEndian.PutUint16(b, r.Channel)
	binary.BigEndian.PutUint16(b[2:], 0)
	binary.BigEndian.PutUint32(b[4:], r.First)
	binary.BigEndian.PutUint32(b[8:], r.Last)
	if r.Extended {
		binary.BigEndian.PutUint64(b[12:], r.Block)
		return resendLen64
	}
	binary.BigEndian.PutUint16(b[2:], uint16(r.Block))
	return resendLen
}

// ParseResend reads the body of a ResendReq.
//
// Errors: [ErrMalformed].
func ParseResend(c Command) (Resend, error) {
	r := Resend{Extended: c.Flags&FlagExtended != 0}
	want := resendLen
	if r.Extended {
		want = resendLen64
	}
	b := c.Body
	if len(b) != want {
		return r, fmt.Errorf("gv: request to resend of %d bytes, want %d: %w", len(b), want, ErrMalformed)
	}
	r.Channel = binary.BigEndian.Uint16(b)
	r.First, r.Last = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if r.Extended {
		r.Block = binary.BigEndian.Uint64(b[12:])
		return r, nil
	}
	r.Block = uint64(binary.BigEndian.Uint16(b[2:]))
	r.First, r.Last = r.First&maxPacket, r.Last&maxPacket
	return r, nil
}
