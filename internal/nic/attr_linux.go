// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// attrTypeMask takes the flags (nested, network order) off an attribute's type.
const attrTypeMask = 1<<14 - 1

// walk calls f for each netlink attribute in b, in order, and ends with the first
// error. The values alias b.
//
//	 0       2       4
//	┌───────┬───────┬──────────────┬───────────┐
//	│ length│ type  │ value        │ padding   │  next attribute
//	└───────┴───────┴──────────────┴───────────┘
//	 host byte order; length counts the header   to a multiple of 4 bytes
//
// The last one may lack its padding. Fewer than 4 bytes left over are padding.
func walk(b []byte, f func(typ uint16, value []byte) error) error {
	for len(b) >= unix.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			return fmt.Errorf("attribute of %d bytes in %d: %w", size, len(b), unix.EBADMSG)
		}
		typ := binary.NativeEndian.Uint16(b[2:]) & attrTypeMask
		if err := f(typ, b[unix.SizeofRtAttr:size]); err != nil {
			return err
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}

// The readers of one value refuse a value that is too short. A longer one is taken:
// kernels to come may append to it.

func u8(v []byte) (uint8, error) {
	if len(v) < 1 {
		return 0, shortValue(1, v)
	}
	return v[0], nil
}

func u16(v []byte) (uint16, error) {
	if len(v) < 2 {
		return 0, shortValue(2, v)
	}
	return binary.NativeEndian.Uint16(v), nil
}

func u32(v []byte) (uint32, error) {
	if len(v) < 4 {
		return 0, shortValue(4, v)
	}
	return binary.NativeEndian.Uint32(v), nil
}

func u64(v []byte) (uint64, error) {
	if len(v) < 8 {
		return 0, shortValue(8, v)
	}
	return binary.NativeEndian.Uint64(v), nil
}

func shortValue(want int, v []byte) error {
	return fmt.Errorf("value of %d bytes, want %d: %w", len(v), want, unix.EBADMSG)
}

// setInt stores a 32-bit value that counts something. What is beyond the int of a
// 32-bit machine is no number of things that the kernel has.
func setInt(dst *int, v []byte) error {
	n, err := u32(v)
	if err == nil && n > 1<<31-1 {
		err = fmt.Errorf("value %d: %w", n, unix.EBADMSG)
	}
	if err != nil {
		return err
	}
	*dst = int(n)
	return nil
}
