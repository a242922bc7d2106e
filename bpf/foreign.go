// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrForeignProgram says that an XDP program of somebody else is on the
// interface. The error itself is a *ForeignProgramError.
var ErrForeignProgram = errors.New("another XDP program is attached")

// ForeignProgramError names the program in the way. It is ErrForeignProgram and
// syscall.EBUSY in the sense of errors.Is.
type ForeignProgramError struct {
	Interface string
	ID        uint32 // program id; 0 if several are attached
	Name      string // as its author named it; empty without CAP_SYS_ADMIN
	Mode      string // "native", "generic", "offload" or "several"
	LinkID    uint32 // the BPF link that holds it; 0 if none does or it cannot be told
	// LinkUnknown: without CAP_SYS_ADMIN it cannot be told whether a link holds it.
	LinkUnknown bool
	// Replace was asked for and could not be done, because a link holds the program.
	Replace bool
}

// Error names the program and the command that removes it.
func (e *ForeignProgramError) Error() string {
	s := fmt.Sprintf("bpf: attach %s: XDP program %d", e.Interface, e.ID)
	if e.Name != "" {
		s += fmt.Sprintf(" (%s)", e.Name)
	}
	s += fmt.Sprintf(" is attached (%s)", e.Mode)
	if e.Replace {
		s += " and cannot be replaced, as a BPF link of another process holds it"
	}
	return s + "; to remove it: " + e.RemoveCommand()
}

// RemoveCommand is the shell command that takes the program off.
func (e *ForeignProgramError) RemoveCommand() string {
	if e.LinkID != 0 {
		return fmt.Sprintf("bpftool link detach id %d", e.LinkID)
	}
	word := map[string]string{"native": "xdpdrv", "generic": "xdpgeneric", "offload": "xdpoffload"}[e.Mode]
	if word == "" {
		word = "xdp"
	}
	s := fmt.Sprintf("ip link set dev %s %s off", e.Interface, word)
	if e.LinkUnknown {
		s += " (or, if a BPF link holds it, bpftool link detach)"
	}
	return s
}

// Is makes errors.Is(err, ErrForeignProgram) hold.
func (e *ForeignProgramError) Is(target error) bool { return target == ErrForeignProgram }

// Unwrap gives the errno the kernel answers with when the place is taken.
func (e *ForeignProgramError) Unwrap() error { return syscall.EBUSY }
