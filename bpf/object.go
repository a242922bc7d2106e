// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	_ "embed" // for the two objects
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
)

// The program for both byte orders, as build.sh makes it from xdp.c. The maps are
// described in the old form (a section "maps"), which asks nothing of the kernel's BTF.
var (
	//go:embed xdp_bpfel.o
	littleEndian []byte
	//go:embed xdp_bpfeb.o
	bigEndian []byte
)

// Names of the programs, inside the object and for bpftool.
const (
	programName = "xdpath"     // Linux 5.18 and later, with frags or without
	oldName     = "xdpath_old" // earlier
)

// openObject gives the description of maps and programs for this machine.
func openObject() (*ebpf.CollectionSpec, error) {
	object := littleEndian
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		object = bigEndian
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("bpf: read object: %w", err)
	}
	for _, name := range []string{programName, oldName} {
		if spec.Programs[name] == nil {
			return nil, fmt.Errorf("bpf: read object: program %s is missing", name)
		}
	}
	for _, name := range []string{"filters", "own_mac", "queues", "counters"} {
		if spec.Maps[name] == nil {
			return nil, fmt.Errorf("bpf: read object: map %s is missing", name)
		}
	}
	return spec, nil
}
