// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// refuseForeign returns a *ForeignProgramError if a program is on the device,
// unless it shall and can be replaced. Attach itself never displaces a program
// (the kernel refuses for a link, a flag for netlink), so a race is harmless.
func (d *device) refuseForeign(replace bool) error {
	list, err := d.programs()
	if err != nil {
		return fmt.Errorf("bpf: read XDP programs of %s: %w", d, err)
	}
	if len(list) == 0 {
		return nil
	}
	foreign := d.describe(list)
	if replace && len(list) == 1 && foreign.LinkID == 0 && foreign.Mode != "offload" {
		return nil
	}
	foreign.Replace = replace && foreign.LinkID != 0
	return foreign
}

// describe finds out what can be told about the programs. Name and link need
// CAP_SYS_ADMIN.
func (d *device) describe(list []found) *ForeignProgramError {
	e := &ForeignProgramError{Interface: d.name, ID: list[0].id, Mode: list[0].mode}
	if len(list) > 1 {
		e.ID, e.Mode = 0, "several"
		return e
	}
	id, err := linkOf(d.index, e.ID)
	e.LinkID, e.LinkUnknown = id, err != nil
	if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(e.ID)); err == nil {
		if info, err := p.Info(); err == nil {
			e.Name = info.Name
		}
		_ = p.Close()
	}
	return e
}

// removed is somebody else's program that Replace took off, to be put back if
// ours cannot be attached.
type removed struct {
	device  *device
	program *ebpf.Program
	flags   uint32
}

// removeForeign takes the one netlink-attached program off that refuseForeign let
// pass.
func (d *device) removeForeign(replace bool) (*removed, error) {
	if !replace {
		return nil, nil
	}
	list, err := d.programs()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	program, err := ebpf.NewProgramFromID(ebpf.ProgramID(list[0].id))
	if errors.Is(err, unix.EPERM) {
		return nil, explainPermission(fmt.Sprintf("replace program %d of %s", list[0].id, d), err, unix.CAP_SYS_ADMIN)
	}
	if err != nil {
		return nil, fmt.Errorf("bpf: replace program %d of %s: %w", list[0].id, d, bare(err))
	}
	mode := Native
	if list[0].mode == "generic" {
		mode = Generic
	}
	r := &removed{d, program, netlinkFlags(mode)}
	err = d.detach(program.FD(), r.flags)
	if err == nil {
		return r, nil
	}
	r.forget()
	if errors.Is(err, unix.EBUSY) {
		foreign := d.describe(list)
		foreign.Replace = true
		return nil, foreign
	}
	return nil, fmt.Errorf("bpf: replace program %d of %s: %w", list[0].id, d, err)
}

// undo puts the program back.
func (r *removed) undo() error {
	if r == nil {
		return nil
	}
	defer r.forget()
	if err := r.device.setProgram(r.program.FD(), -1, r.flags|unix.XDP_FLAGS_UPDATE_IF_NOEXIST); err != nil {
		return fmt.Errorf("bpf: put the replaced program back on %s: %w", r.device, err)
	}
	return nil
}

// forget drops the descriptor; the program ends with it unless it is attached.
func (r *removed) forget() {
	if r != nil {
		_ = r.program.Close()
	}
}
