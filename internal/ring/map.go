// SPDX-License-Identifier: MIT

package ring

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Offsets tells where in a mapping the kernel put the parts of a ring: struct
// xdp_ring_offset of include/uapi/linux/if_xdp.h, in bytes.
type Offsets struct {
	Producer, Consumer, Flags, Desc uint64
}

// End is the length that a mapping needs for a ring of size entries of T.
func End[T any](off Offsets, size uint32) uint64 {
	var t T
	return off.Desc + uint64(size)*uint64(unsafe.Sizeof(t))
}

// Map lays a ring of size entries over mem, which the kernel shares:
//
//	mem --> +--------------------+ off.Producer   uint32
//	        | producer           |
//	        | consumer           | off.Consumer   uint32, own cache line
//	        | flags              | off.Flags      uint32
//	        +--------------------+ off.Desc
//	        | entry 0 .. size-1  | T each
//	        +--------------------+
//
// The ring does not keep mem alive: whoever mapped it unmaps it after the last
// use of the ring. An offset outside mem or ill aligned is an error, so a kernel
// that answers nonsense cannot make us touch foreign memory.
func Map[T any](mem []byte, off Offsets, size uint32) (Shared[T], error) {
	if err := CheckSize(size); err != nil {
		return Shared[T]{}, err
	}
	var t T
	if err := fits(mem, "descriptors", off.Desc, uint64(size)*uint64(unsafe.Sizeof(t)), uint64(unsafe.Alignof(t))); err != nil {
		return Shared[T]{}, err
	}
	s := Shared[T]{Entries: unsafe.Slice((*T)(unsafe.Pointer(&mem[off.Desc])), size)}
	for _, w := range []struct {
		name string
		off  uint64
		word **atomic.Uint32
	}{
		{"producer", off.Producer, &s.Producer},
		{"consumer", off.Consumer, &s.Consumer},
		{"flags", off.Flags, &s.Flags},
	} {
		if err := fits(mem, w.name, w.off, 4, 4); err != nil {
			return Shared[T]{}, err
		}
		*w.word = (*atomic.Uint32)(unsafe.Pointer(&mem[w.off]))
	}
	return s, nil
}

// fits tells why length bytes at off of mem cannot hold the named part.
func fits(mem []byte, name string, off, length, align uint64) error {
	if total := uint64(len(mem)); off > total || length > total-off {
		return fmt.Errorf("ring %s at offset %d, %d bytes: mapping has %d", name, off, length, total)
	}
	if off%align != 0 {
		return fmt.Errorf("ring %s at offset %d: not aligned to %d", name, off, align)
	}
	return nil
}
