// SPDX-License-Identifier: MIT

package ring

import (
	"testing"
	"unsafe"
)

// aligned returns n bytes that begin on a 64-byte boundary.
func aligned(n int) []byte {
	b := make([]byte, n+64)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & 63
	return b[skip : skip+n : skip+n]
}

func TestMap(t *testing.T) {
	off := Offsets{Producer: 0, Consumer: 64, Flags: 128, Desc: 192}
	mem := aligned(int(End[desc](off, 8)))
	s, err := Map[desc](mem, off, 8)
	if err != nil {
		t.Fatal(err)
	}
	p := NewProducer(s)
	a, _, _ := p.Reserve(2)
	a[1] = desc{Addr: 1<<63 | 5, Len: 7, Options: 9}
	p.Submit(2)
	if got := *(*uint32)(unsafe.Pointer(&mem[0])); got != 2 {
		t.Errorf("producer word %d", got)
	}
	// Case 47: descriptors are 16 bytes apart, addresses 8.
	if got := *(*desc)(unsafe.Pointer(&mem[192+16])); got != a[1] {
		t.Errorf("entry 1 is %+v", got)
	}
	if got := End[uint64](off, 8) - off.Desc; got != 64 {
		t.Errorf("8 addresses take %d bytes", got)
	}
	if got := End[desc](off, 8) - off.Desc; got != 128 {
		t.Errorf("8 descriptors take %d bytes", got)
	}
}

func TestMapRefuses(t *testing.T) {
	good := Offsets{Producer: 0, Consumer: 64, Flags: 128, Desc: 192}
	mem := aligned(int(End[desc](good, 8)))
	for name, c := range map[string]struct {
		off  Offsets
		size uint32
	}{
		"entries beyond the mapping":  {Offsets{0, 64, 128, 200}, 8},
		"entries ill aligned":         {Offsets{0, 64, 128, 190}, 8},
		"producer outside":            {Offsets{1 << 20, 64, 128, 192}, 8},
		"consumer ill aligned":        {Offsets{0, 66, 128, 192}, 8},
		"flags at the very end":       {Offsets{0, 64, 319, 192}, 8},
		"offset that wraps 64 bits":   {Offsets{0, 64, 128, ^uint64(0) - 7}, 8},
		"size not a power of two":     {good, 6},
		"size larger than MaxSize":    {good, 1 << 27},
		"size larger than the memory": {good, 16},
	} {
		if _, err := Map[desc](mem, c.off, c.size); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
