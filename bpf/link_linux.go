// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
)

// linkTie is a program on a BPF link. The kernel closes the link with the last
// process that holds it.
type linkTie struct {
	link    link.Link
	program uint32
}

func flagsFor(mode Mode) link.XDPAttachFlags {
	if mode == Generic {
		return link.XDPGenericMode
	}
	return link.XDPDriverMode
}

// attachLink makes the link and fills in what it says about itself. The device is
// not needed afterwards and is closed.
func attachLink(d *device, r rung, info *Info) (attachment, error) {
	l, err := link.AttachXDP(link.XDPOptions{Program: r.program, Interface: d.index, Flags: flagsFor(r.mode)})
	if err != nil {
		return nil, bare(err)
	}
	li, err := l.Info()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read link: %w", err), l.Close())
	}
	d.close()
	info.LinkID, info.ProgramID = uint32(li.ID), uint32(li.Program)
	return &linkTie{link: l, program: info.ProgramID}, nil
}

// attached asks the link: the kernel clears its interface when somebody detaches
// it and when the interface goes away.
func (t *linkTie) attached() (bool, error) {
	li, err := t.link.Info()
	if err != nil {
		return false, fmt.Errorf("bpf: check attachment: %w", bare(err))
	}
	x := li.XDP()
	return x != nil && x.Ifindex != 0 && uint32(li.Program) == t.program, nil
}

// close detaches before it closes: another process (a child between fork and
// exec, say) may hold the descriptor a little longer, and the program shall be
// off when Close returns.
func (t *linkTie) close() error {
	err := t.link.Detach()
	if errors.Is(err, link.ErrNotSupported) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("bpf: detach: %w", bare(err))
	}
	return errors.Join(err, t.link.Close())
}

func (t *linkTie) linkFD() int {
	if raw, ok := t.link.(interface{ FD() int }); ok {
		return raw.FD()
	}
	return -1
}

// linkOf looks for the link that holds program id on the interface. It needs
// CAP_SYS_ADMIN; 0 with a nil error means that no link holds it.
func linkOf(ifindex int, id uint32) (uint32, error) {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil {
			continue // gone meanwhile, or a kind without information
		}
		if x := info.XDP(); x != nil && int(x.Ifindex) == ifindex && uint32(info.Program) == id {
			return uint32(info.ID), nil
		}
	}
	return 0, it.Err()
}
