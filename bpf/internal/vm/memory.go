// SPDX-License-Identifier: MIT

package vm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// bytes finds the memory behind an address.
func (r *run) bytes(at uint64, n int) ([]byte, error) {
	region, offset := int(at>>32)-1, int(uint32(at))
	if region < 0 || region >= len(r.regions) || offset+n > len(r.regions[region]) {
		return nil, fmt.Errorf("no %d bytes at %#x", n, at)
	}
	if region == regionFrame && offset < r.meta {
		return nil, fmt.Errorf("%d bytes at %#x are in front of the metadata", n, at)
	}
	return r.regions[region][offset : offset+n], nil
}

// load reads memory, or struct xdp_md, whose pointers the kernel widens.
func (r *run) load(ins *asm.Instruction) error {
	at := r.regs[ins.Src] + uint64(int64(ins.Offset))
	if at>>32 == address(regionContext)>>32 {
		switch uint32(at) {
		case 0: // data
			r.regs[ins.Dst] = address(regionFrame) + headroom
		case 4: // data_end
			r.regs[ins.Dst] = address(regionFrame) + headroom + uint64(r.length)
		case 8: // data_meta
			r.regs[ins.Dst] = address(regionFrame) + uint64(r.meta)
		case 16: // rx_queue_index
			r.regs[ins.Dst] = uint64(r.queue)
		default:
			return fmt.Errorf("context offset %d", uint32(at))
		}
		return nil
	}
	b, err := r.bytes(at, ins.OpCode.Size().Sizeof())
	if err != nil {
		return err
	}
	r.regs[ins.Dst], err = read(r.Order, b)
	return err
}

func (r *run) store(ins *asm.Instruction) error {
	if ins.OpCode.Mode() != asm.MemMode {
		return errors.New("unknown store")
	}
	v := r.regs[ins.Src]
	if ins.OpCode.Class() == asm.StClass {
		v = uint64(ins.Constant)
	}
	b, err := r.bytes(r.regs[ins.Dst]+uint64(int64(ins.Offset)), ins.OpCode.Size().Sizeof())
	if err != nil {
		return err
	}
	return write(r.Order, b, v)
}

func read(order binary.ByteOrder, b []byte) (uint64, error) {
	switch len(b) {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(order.Uint16(b)), nil
	case 4:
		return uint64(order.Uint32(b)), nil
	case 8:
		return order.Uint64(b), nil
	}
	return 0, fmt.Errorf("size %d", len(b))
}

func write(order binary.ByteOrder, b []byte, v uint64) error {
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		order.PutUint16(b, uint16(v))
	case 4:
		order.PutUint32(b, uint32(v))
	case 8:
		order.PutUint64(b, v)
	default:
		return fmt.Errorf("size %d", len(b))
	}
	return nil
}

// The maps by name; a handle is no address.
var mapNames = []string{"filters", "own", "queues", "counters"}

func mapHandle(name string) uint64 {
	for i, n := range mapNames {
		if n == name {
			return 1<<60 + uint64(i)
		}
	}
	return 0
}

func (r *run) mapName(handle uint64) string {
	if i := handle - 1<<60; i < uint64(len(mapNames)) {
		return mapNames[i]
	}
	return "no map"
}

// call runs a helper, by its number in the kernel's interface.
func (r *run) call(helper int64) error {
	switch helper {
	case 1: // bpf_map_lookup_elem
		return r.lookup(r.mapName(r.regs[asm.R1]), r.regs[asm.R2])
	case 51: // bpf_redirect_map
		r.regs[asm.R0] = r.regs[asm.R3]
		if r.mapName(r.regs[asm.R1]) == "queues" && r.Sockets[int(uint32(r.regs[asm.R2]))] {
			r.regs[asm.R0] = 4 // XDP_REDIRECT
		}
	case 54: // bpf_xdp_adjust_meta
		r.adjustMeta(int(int32(r.regs[asm.R2])))
	case 188: // bpf_xdp_get_buff_len
		r.regs[asm.R0] = uint64(r.length)
	default:
		if err := r.callDriver(helper); err != nil {
			return err
		}
	}
	r.clobber()
	return nil
}

// clobber spoils the registers that a call does not keep.
func (r *run) clobber() {
	for i := asm.R1; i <= asm.R5; i++ {
		r.regs[i] = 0xdeadbeef
	}
}

func (r *run) lookup(name string, key uint64) error {
	size := 4
	if name == "filters" {
		size = 24
	}
	b, err := r.bytes(key, size)
	if err != nil {
		return err
	}
	var value []byte
	switch name {
	case "filters":
		if r.Filters[string(b)] {
			value = make([]byte, 4)
		}
	case "own":
		if i := r.Order.Uint32(b); int(i) < len(r.Own) {
			value = r.Own[i]
		}
	case "counters":
		if i := r.Order.Uint32(b); int(i) < len(r.Counters) {
			value = r.Counters[i]
		}
	default:
		return fmt.Errorf("lookup in %s", name)
	}
	r.regs[asm.R0] = 0
	if value != nil {
		r.regions = append(r.regions, value)
		r.regs[asm.R0] = address(len(r.regions) - 1)
	}
	r.clobber()
	return nil
}
