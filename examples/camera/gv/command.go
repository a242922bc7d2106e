// SPDX-License-Identifier: MIT

package gv

import (
	"encoding/binary"
	"fmt"
)

// Kind tells commands apart. That of an acknowledgement is the command's plus 1.
type Kind uint16

const (
	Discovery Kind = 0x0002
	ForceIP   Kind = 0x0004
	ResendReq Kind = 0x0040 // has no acknowledgement
	ReadReg   Kind = 0x0080
	WriteReg  Kind = 0x0082
	ReadMem   Kind = 0x0084
	WriteMem  Kind = 0x0086
	Pending   Kind = 0x0088 // only its acknowledgement exists: wait longer
)

// Ack is the kind of the acknowledgement of a command.
func (k Kind) Ack() Kind { return k + 1 }

// Flags of commands.
const (
	FlagAck       = 0x01 // an acknowledgement is wanted
	FlagBroadcast = 0x10 // of Discovery: it may be broadcast
	FlagExtended  = 0x10 // of ResendReq: extended ids
)

const (
	commandKey = 0x42
	// HeaderSize is what commands and acknowledgements begin with.
	HeaderSize = 8
	// MaxBody is the longest body: 576 bytes of IP, the least that every host
	// takes, less the headers of IP, UDP and this protocol.
	MaxBody = 576 - 20 - 8 - HeaderSize
)

// Command is a command to a camera.
type Command struct {
	Flags uint8
	Kind  Kind
	ID    uint16 // never 0
	Body  []byte
}

// WantsAck tells whether an acknowledgement is wanted.
func (c Command) WantsAck() bool { return c.Flags&FlagAck != 0 }

// ParseCommand reads a command. The body is a part of b.
//
// Errors: [ErrMalformed]. If the header is a command's and the rest does not fit it,
// the Command has what the header says, without a body; its ID is 0 if not.
func ParseCommand(b []byte) (Command, error) {
	if len(b) < HeaderSize || b[0] != commandKey || binary.BigEndian.Uint16(b[6:]) == 0 {
		return Command{}, fmt.Errorf("gv: %d bytes are no command: %w", len(b), ErrMalformed)
	}
	c := Command{Flags: b[1], Kind: Kind(binary.BigEndian.Uint16(b[2:])), ID: binary.BigEndian.Uint16(b[6:])}
	var err error
	c.Body, err = body(b)
	return c, err
}

// AppendCommand appends the bytes of a command to b. The body must not be longer
// than [MaxBody].
func AppendCommand(b []byte, c Command) []byte {
	b = append(b, commandKey, c.Flags)
	return appendRest(b, c.Kind, c.ID, c.Body)
}

// Ack is the acknowledgement of a command.
type Ack struct {
	Status Status
	Kind   Kind   // Kind.Ack of the command
	ID     uint16 // the command's
	Body   []byte
}

// ParseAck reads an acknowledgement. The body is a part of b.
//
// Errors: [ErrMalformed].
func ParseAck(b []byte) (Ack, error) {
	if len(b) < HeaderSize {
		return Ack{}, fmt.Errorf("gv: %d bytes are no acknowledgement: %w", len(b), ErrMalformed)
	}
	body, err := body(b)
	return Ack{Status(binary.BigEndian.Uint16(b)), Kind(binary.BigEndian.Uint16(b[2:])), binary.BigEndian.Uint16(b[6:]), body}, err
}

// AppendAck appends the bytes of an acknowledgement to b. The body must not be
// longer than [MaxBody].
func AppendAck(b []byte, a Ack) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(a.Status))
	return appendRest(b, a.Kind, a.ID, a.Body)
}

// body is what follows the header of b, as long as that says. More is padding.
func body(b []byte) ([]byte, error) {
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n > len(b)-HeaderSize || n > MaxBody {
		return nil, fmt.Errorf("gv: body of %d bytes in a datagram of %d, at most %d: %w", n, len(b), MaxBody, ErrMalformed)
	}
	return b[HeaderSize : HeaderSize+n : HeaderSize+n], nil
}

func appendRest(b []byte, k Kind, id uint16, body []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(k))
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	b = binary.BigEndian.AppendUint16(b, id)
	return append(b, body...)
}
