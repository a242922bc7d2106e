// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	_ "embed" // for the objects
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
)

// object is one program source for both byte orders, as build.sh makes it. The maps
// are described in the old form (a section "maps"), which asks nothing of the
// kernel's BTF.
type object struct {
	little, big []byte
	programs    []string // what must be in it
}

var (
	//go:embed xdp_bpfel.o
	plainLittle []byte
	//go:embed xdp_bpfeb.o
	plainBig []byte
	//go:embed xdp_meta_bpfel.o
	metaLittle []byte
	//go:embed xdp_meta_bpfeb.o
	metaBig []byte
)

// Names of the programs, inside the object and for bpftool.
const (
	programName = "xdpath"      // Linux 5.18 and later, with frags or without
	oldName     = "xdpath_old"  // earlier
	metaName    = "xdpath_meta" // Linux 6.3 and later, with frags or without; bound to a device
)

// plainObject is xdp.c.
func plainObject() object { return object{plainLittle, plainBig, []string{programName, oldName}} }

// metaObject is xdp_meta.c. Its calls into the driver are placeholders: see kfunc.
func metaObject() object { return object{metaLittle, metaBig, []string{metaName}} }

// mapNames are the tables, which both objects describe alike.
var mapNames = [...]string{"filters", "own", "queues", "counters"}

// open gives the description of maps and programs for this machine.
func (o object) open() (*ebpf.CollectionSpec, error) {
	data := o.little
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		data = o.big
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("bpf: read object: %w", err)
	}
	for _, name := range o.programs {
		if spec.Programs[name] == nil {
			return nil, fmt.Errorf("bpf: read object: program %s is missing", name)
		}
	}
	for _, name := range mapNames {
		if spec.Maps[name] == nil {
			return nil, fmt.Errorf("bpf: read object: map %s is missing", name)
		}
	}
	return spec, nil
}
