// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
)

// Mode says where in the receive path the program runs.
type Mode int

const (
	// Best takes native mode if the driver has it, else generic. Info tells which.
	Best Mode = iota
	// Native runs the program in the driver, before the kernel makes a packet of
	// the frame. Fails where the driver cannot.
	Native
	// Generic runs the program in the network stack, on any device, at the cost
	// of the work that native mode saves.
	Generic
)

// String gives the mode in lower case.
func (m Mode) String() string {
	switch m {
	case Best:
		return "best"
	case Native:
		return "native"
	case Generic:
		return "generic"
	}
	return fmt.Sprintf("mode %d", int(m))
}

// maxQueues bounds the queue map; the kernel's own receive queue numbers end far below.
const maxQueues = 1 << 16

// maxName is the longest interface name, IFNAMSIZ without its final zero.
const maxName = 15

// Config says what to attach where. Only the interface is needed.
type Config struct {
	// Ifindex or Interface names the device, in the network namespace of the
	// calling thread. If both are given they must agree.
	Ifindex   int
	Interface string

	// Mode is where the program shall run.
	Mode Mode

	// Queues is the size of the queue map: one more than the highest queue number
	// that SetQueue will take. Default 64.
	Queues int

	// NoFrags leaves out the program for frames of several buffers, which Linux
	// 5.18 and a willing driver take; without it a native program limits the MTU.
	NoFrags bool

	// Metadata asks for the program that passes on what the driver knows of each
	// frame: hardware timestamp, hash, VLAN tag. See Program.Metadata. It takes native
	// mode, Linux 6.3 (6.8 for the tag) with BTF, and a driver that has any.
	Metadata MetadataPolicy

	// Replace removes a program that somebody else attached by netlink, instead
	// of returning ErrForeignProgram. If ours cannot be attached then, theirs is
	// put back. A program on another process's BPF link cannot be replaced. This
	// takes CAP_SYS_ADMIN.
	Replace bool
}

func (c Config) withDefaults() Config {
	if c.Queues == 0 {
		c.Queues = 64
	}
	return c
}

// validate checks all that needs no kernel, in the order of the fields.
func (c Config) validate() error {
	var errs []error
	if c.Ifindex == 0 && c.Interface == "" {
		errs = append(errs, errors.New("bpf: config: Ifindex or Interface is needed"))
	}
	if c.Ifindex < 0 {
		errs = append(errs, fmt.Errorf("bpf: config: Ifindex %d is negative", c.Ifindex))
	}
	if len(c.Interface) > maxName {
		errs = append(errs, fmt.Errorf("bpf: config: Interface %q is longer than %d bytes", c.Interface, maxName))
	}
	if c.Mode < Best || c.Mode > Generic {
		errs = append(errs, fmt.Errorf("bpf: config: Mode %d is none of Best, Native, Generic", int(c.Mode)))
	}
	if c.Queues < 1 || c.Queues > maxQueues {
		errs = append(errs, fmt.Errorf("bpf: config: Queues %d is outside 1 to %d", c.Queues, maxQueues))
	}
	if c.Metadata < MetadataOff || c.Metadata > MetadataRequire {
		errs = append(errs, fmt.Errorf("bpf: config: Metadata %d is none of MetadataOff, MetadataAuto, MetadataRequire", int(c.Metadata)))
	}
	if c.Metadata == MetadataRequire && c.Mode == Generic {
		errs = append(errs, errors.New("bpf: config: Metadata require cannot be met with Mode generic: only native mode has any"))
	}
	return errors.Join(errs...)
}
