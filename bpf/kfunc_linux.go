// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// kfunc is a call from the program into the driver. The object calls placeholder,
// a number that no helper of the kernel has; the loader replaces it.
type kfunc struct {
	placeholder int64
	name        string // in the kernel
	field       Fields
}

// kfuncs are the calls in xdp_meta.c.
var kfuncs = [...]kfunc{
	{0x0d0a0001, "bpf_xdp_metadata_rx_timestamp", HasTimestamp}, // Linux 6.3
	{0x0d0a0002, "bpf_xdp_metadata_rx_hash", HasHash},           // 6.3
	{0x0d0a0003, "bpf_xdp_metadata_rx_vlan_tag", HasVLAN},       // 6.8
}

// calls are the kernel's own numbers of those functions that it has.
type calls map[Fields]btf.TypeID

// only leaves out what is not in f.
func (c calls) only(f Fields) calls {
	left := calls{}
	for field, id := range c {
		if f&field != 0 {
			left[field] = id
		}
	}
	return left
}

func (c calls) fields() (f Fields) {
	for field := range c {
		f |= field
	}
	return f
}

// kernelBTF is where the kernel describes its own functions. Kernels built without
// CONFIG_DEBUG_INFO_BTF lack it, and then a program can call none.
const kernelBTF = "/sys/kernel/btf/vmlinux"

// kernelCalls looks the functions up in a file with the kernel's BTF.
func kernelCalls(path string) (calls, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the kernel has no BTF (CONFIG_DEBUG_INFO_BTF), or /sys is not mounted: %w", err)
	}
	defer func() { _ = f.Close() }()
	// Read rather than mapped as btf.LoadKernelSpec does: a mapping would stay until
	// some later garbage collection.
	spec, err := btf.LoadSpecFromReader(f)
	if err != nil {
		return nil, fmt.Errorf("read the kernel's BTF: %w", err)
	}
	found := calls{}
	for _, k := range kfuncs {
		var fn *btf.Func
		err := spec.TypeByName(k.name, &fn)
		if errors.Is(err, btf.ErrNotFound) {
			continue
		}
		if err == nil {
			found[k.field], err = spec.TypeID(fn)
		}
		if err != nil {
			return nil, fmt.Errorf("find %s in the kernel's BTF: %w", k.name, err)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the kernel has no functions for metadata (Linux 6.3): %w", unix.EOPNOTSUPP)
	}
	return found, nil
}

// link replaces the placeholders in code, which is changed: by calls where c has
// the function, else by what the function answers if the driver does not know,
// -EOPNOTSUPP. Each takes one instruction slot, so that jumps stay right.
func (c calls) link(code asm.Instructions) {
	for i := range code {
		ins := &code[i]
		if !ins.IsBuiltinCall() {
			continue
		}
		for _, k := range kfuncs {
			if ins.Constant != k.placeholder {
				continue
			}
			if id, ok := c[k.field]; ok {
				ins.Src, ins.Constant = asm.PseudoKfuncCall, int64(id)
				break
			}
			none := asm.Mov.Imm(asm.R0, -int32(unix.EOPNOTSUPP))
			ins.OpCode, ins.Dst, ins.Src, ins.Constant = none.OpCode, none.Dst, none.Src, none.Constant
			break
		}
	}
}
