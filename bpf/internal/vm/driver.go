// SPDX-License-Identifier: MIT

package vm

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// failed is an error as a C function returns it: the upper half of the register
// means nothing.
func failed(errno int32) uint64 { return 0xdead<<32 | uint64(uint32(-errno)) }

const (
	einval  = 22
	enodata = 61
)

// adjustMeta moves the beginning of the metadata, as bpf_xdp_adjust_meta in
// net/core/filter.c does: at most 32 bytes on older kernels.
func (r *run) adjustMeta(delta int) {
	meta := r.meta + delta
	if size := headroom - meta; r.Driver.NoRoom || size < 0 || size > 32 || size%4 != 0 {
		r.regs[asm.R0] = failed(einval)
		return
	}
	r.meta = meta
	r.regs[asm.R0] = 0
}

// callDriver answers a placeholder of xdp_meta.c.
func (r *run) callDriver(number int64) error {
	d := &r.Driver
	known, err := false, error(nil)
	switch number {
	case 0x0d0a0001: // timestamp
		if known = d.Timestamp != nil; known {
			err = r.put(asm.R2, 8, *d.Timestamp)
		}
	case 0x0d0a0002: // hash and its type
		if known = d.Hash != nil; known {
			if err = r.put(asm.R2, 4, uint64(d.Hash[0])); err == nil {
				err = r.put(asm.R3, 4, uint64(d.Hash[1]))
			}
		}
	case 0x0d0a0003: // protocol and content of the tag
		if known = d.VLAN != nil; known {
			if err = r.put(asm.R3, 2, uint64(d.VLAN.TCI)); err == nil {
				var proto []byte
				if proto, err = r.bytes(r.regs[asm.R2], 2); err == nil {
					copy(proto, d.VLAN.Proto[:])
				}
			}
		}
	default:
		return fmt.Errorf("unknown helper %d", number)
	}
	r.regs[asm.R0] = failed(enodata)
	if known {
		r.regs[asm.R0] = failed(0)
	}
	return err
}

// put writes where a register points.
func (r *run) put(pointer asm.Register, size int, v uint64) error {
	b, err := r.bytes(r.regs[pointer], size)
	if err != nil {
		return err
	}
	return write(r.Order, b, v)
}
