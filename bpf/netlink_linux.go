// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// netlinkTie is a program attached the old way, for kernels without XDP links.
// It stays on the interface if the process is killed.
type netlinkTie struct {
	device  *device
	program *ebpf.Program // our own descriptor, to prove at detach that it is ours
	id      uint32
	mode    Mode
}

func netlinkFlags(mode Mode) uint32 {
	if mode == Generic {
		return unix.XDP_FLAGS_SKB_MODE
	}
	return unix.XDP_FLAGS_DRV_MODE
}

// attachNetlink puts the program on the device unless one is there already, and
// takes the device over.
func attachNetlink(d *device, r rung, info *Info) (_ attachment, err error) {
	program, err := r.program.Clone()
	if err != nil {
		return nil, fmt.Errorf("duplicate program: %w", bare(err))
	}
	defer func() {
		if err != nil {
			_ = program.Close()
		}
	}()
	id, err := programID(program)
	if err != nil {
		return nil, err
	}
	if err := d.setProgram(program.FD(), -1, netlinkFlags(r.mode)|unix.XDP_FLAGS_UPDATE_IF_NOEXIST); err != nil {
		return nil, err
	}
	info.ProgramID = id
	return &netlinkTie{device: d, program: program, id: id, mode: r.mode}, nil
}

func programID(p *ebpf.Program) (uint32, error) {
	info, err := p.Info()
	if err != nil {
		return 0, fmt.Errorf("read program: %w", bare(err))
	}
	id, _ := info.ID()
	return uint32(id), nil
}

func (t *netlinkTie) attached() (bool, error) {
	list, err := t.device.programs()
	if errors.Is(err, unix.ENODEV) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("bpf: check attachment of %s: %w", t.device, err)
	}
	for _, one := range list {
		if one.id == t.id && one.mode == t.mode.String() {
			return true, nil
		}
	}
	return false, nil
}

// close detaches only if ours is the program that is there.
func (t *netlinkTie) close() error {
	on, err := t.attached()
	if err == nil && on {
		err = t.device.detach(t.program.FD(), netlinkFlags(t.mode))
		if err != nil {
			err = fmt.Errorf("bpf: detach %s: %w", t.device, err)
		}
	}
	t.device.close()
	return errors.Join(err, t.program.Close())
}

func (t *netlinkTie) linkFD() int { return -1 }

// detach takes the program with descriptor expected off, and no other. Before
// Linux 5.7 the kernel cannot compare and says EINVAL; then the caller's look at
// the id must do.
func (d *device) detach(expected int, mode uint32) error {
	err := d.setProgram(-1, expected, mode|unix.XDP_FLAGS_REPLACE)
	if errors.Is(err, unix.EINVAL) && kernelBefore(5, 7) {
		err = d.setProgram(-1, -1, mode)
	}
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EEXIST) {
		return nil // the interface is gone, or another program is there by now
	}
	return err
}
