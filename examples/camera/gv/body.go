// SPDX-License-Identifier: MIT

package gv

import (
	"encoding/binary"
	"fmt"
)

// MaxMemory is how many bytes of memory one command can read or write.
const MaxMemory = MaxBody - 4

// ParseWords reads the body of a ReadReg, which is addresses, or of its
// acknowledgement, which is values.
//
// Errors: [ErrMalformed].
func ParseWords(body []byte) ([]uint32, error) {
	if len(body) == 0 || len(body)%4 != 0 {
		return nil, fmt.Errorf("gv: %d bytes are no words of 4: %w", len(body), ErrMalformed)
	}
	words := make([]uint32, len(body)/4)
	for i := range words {
		words[i] = binary.BigEndian.Uint32(body[4*i:])
	}
	return words, nil
}

// AppendWords appends what [ParseWords] reads.
func AppendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// Write is one register to write.
type Write struct{ Address, Value uint32 }

// ParseWrites reads the body of a WriteReg.
//
// Errors: [ErrMalformed].
func ParseWrites(body []byte) ([]Write, error) {
	if len(body) == 0 || len(body)%8 != 0 {
		return nil, fmt.Errorf("gv: %d bytes are no addresses with values: %w", len(body), ErrMalformed)
	}
	writes := make([]Write, len(body)/8)
	for i := range writes {
		writes[i] = Write{binary.BigEndian.Uint32(body[8*i:]), binary.BigEndian.Uint32(body[8*i+4:])}
	}
	return writes, nil
}

// AppendWrites appends what [ParseWrites] reads.
func AppendWrites(b []byte, writes ...Write) []byte {
	for _, w := range writes {
		b = AppendWords(b, w.Address, w.Value)
	}
	return b
}

// ParseIndex reads the body of the acknowledgement of a WriteReg or WriteMem: how
// many registers were written, or where in them it ended.
//
// Errors: [ErrMalformed].
func ParseIndex(body []byte) (int, error) {
	if len(body) != 4 {
		return 0, fmt.Errorf("gv: %d bytes are no index: %w", len(body), ErrMalformed)
	}
	return int(binary.BigEndian.Uint16(body[2:])), nil
}

// AppendIndex appends what [ParseIndex] reads.
func AppendIndex(b []byte, n int) []byte { return AppendWords(b, uint32(uint16(n))) }

// Span is a part of the camera's memory.
type Span struct {
	Address uint32
	Count   int // bytes
}

// ParseSpan reads the body of a ReadMem.
//
// Errors: [ErrMalformed].
func ParseSpan(body []byte) (Span, error) {
	if len(body) != 8 {
		return Span{}, fmt.Errorf("gv: %d bytes are no part of memory: %w", len(body), ErrMalformed)
	}
	return Span{binary.BigEndian.Uint32(body), int(binary.BigEndian.Uint16(body[6:]))}, nil
}

// AppendSpan appends what [ParseSpan] reads.
func AppendSpan(b []byte, s Span) []byte { return AppendWords(b, s.Address, uint32(uint16(s.Count))) }

// ParseMemory reads the body of a WriteMem, or of the acknowledgement of a ReadMem:
// an address and the bytes there, which are a part of body.
//
// Errors: [ErrMalformed].
func ParseMemory(body []byte) (address uint32, data []byte, err error) {
	if len(body) < 4 {
		return 0, nil, fmt.Errorf("gv: %d bytes have no address: %w", len(body), ErrMalformed)
	}
	return binary.BigEndian.Uint32(body), body[4:], nil
}

// AppendMemory appends what [ParseMemory] reads.
func AppendMemory(b []byte, address uint32, data []byte) []byte {
	return append(AppendWords(b, address), data...)
}
