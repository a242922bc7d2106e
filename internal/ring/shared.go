// SPDX-License-Identifier: MIT

package ring

import (
	"fmt"
	"sync/atomic"
)

// MaxSize bounds the entries of a ring. The kernel would take 2^30, a request
// for 16 GiB of descriptors; nothing sensible comes near this.
const MaxSize = 1 << 20

// Shared is what both sides of a ring see.
type Shared[T any] struct {
	Producer *atomic.Uint32 // written by the producing side only
	Consumer *atomic.Uint32 // written by the consuming side only
	Flags    *atomic.Uint32 // written by the kernel only
	Entries  []T            // a power of two of them
}

// needWakeup is XDP_RING_NEED_WAKEUP of include/uapi/linux/if_xdp.h.
const needWakeup = 1

// CheckSize tells what is wrong with size as a ring's number of entries.
func CheckSize(size uint32) error {
	switch {
	case size == 0 || size&(size-1) != 0:
		return fmt.Errorf("ring of %d entries: must be a power of two", size)
	case size > MaxSize:
		return fmt.Errorf("ring of %d entries: at most %d", size, MaxSize)
	}
	return nil
}

// Heap returns a ring of size entries in Go's own memory whose indexes both
// stand at start. It is for tests, simulators and teaching: a goroutine plays
// the kernel. Size must satisfy [CheckSize].
func Heap[T any](size, start uint32) Shared[T] {
	s := Shared[T]{
		Producer: new(atomic.Uint32),
		Consumer: new(atomic.Uint32),
		Flags:    new(atomic.Uint32),
		Entries:  make([]T, size),
	}
	s.Producer.Store(start)
	s.Consumer.Store(start)
	return s
}

// span returns n entries that begin at index start, in two parts because they
// may wrap. The second is empty when they do not.
func span[T any](entries []T, start, n uint32) (a, b []T) {
	first := start & uint32(len(entries)-1)
	if room := uint32(len(entries)) - first; n > room {
		return entries[first:], entries[:n-room]
	}
	return entries[first : first+n], nil
}
