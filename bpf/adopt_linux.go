// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Adopt makes a Program of descriptors that another process handed over (see
// FDs). It takes them over, also when it fails, and sets them close-on-exec. No
// capability is needed. Info then lacks what only Attach knew: name, mode, frags,
// which metadata, and the trace.
func Adopt(fds FDs) (*Program, error) {
	p := &Program{}
	err := p.maps.adopt(fds)
	tie, linkErr := adoptLink(fds.Link)
	if err := errors.Join(err, linkErr); err != nil {
		// The link is only closed, not detached: the program is not ours to end.
		if tie != nil {
			_ = tie.link.Close()
		}
		_ = p.maps.close()
		return nil, err
	}
	p.tie = tie
	p.info = Info{ProgramID: tie.program, Queues: int(p.maps.queues.MaxEntries())}
	s, err := p.maps.stamp()
	if err != nil {
		return nil, errors.Join(err, tie.link.Close(), p.maps.close())
	}
	p.stamp.Store(uint64(s))
	if info, err := tie.link.Info(); err == nil {
		p.info.LinkID = uint32(info.ID)
		p.info.Ifindex = int(info.XDP().Ifindex)
	}
	return p, nil
}

// adopt takes the tables over and checks that each is what it should be; a wrong
// one would be written to.
func (m *maps) adopt(fds FDs) error {
	var errs []error
	for _, one := range []struct {
		name             string
		fd               int
		kind             ebpf.MapType
		keySize, valSize uint32
		place            **ebpf.Map
	}{
		{"Queues", fds.Queues, ebpf.XSKMap, 4, 4, &m.queues},
		{"Filters", fds.Filters, ebpf.Hash, keySize, 4, &m.filters},
		{"MAC", fds.MAC, ebpf.Array, 4, 8, &m.own},
		{"Counters", fds.Counters, ebpf.PerCPUArray, 4, 8, &m.counters},
	} {
		unix.CloseOnExec(one.fd)
		found, err := ebpf.NewMapFromFD(one.fd)
		if err != nil {
			errs = append(errs, fmt.Errorf("bpf: adopt: %s descriptor %d: %w", one.name, one.fd, bare(err)))
			continue
		}
		*one.place = found
		if found.Type() != one.kind || found.KeySize() != one.keySize || found.ValueSize() != one.valSize {
			errs = append(errs, fmt.Errorf("bpf: adopt: %s descriptor %d is another map (%s): %w",
				one.name, one.fd, found.Type(), unix.EINVAL))
		}
	}
	return errors.Join(errs...)
}

func adoptLink(fd int) (*linkTie, error) {
	unix.CloseOnExec(fd)
	l, err := link.NewFromFD(fd)
	if err != nil {
		return nil, fmt.Errorf("bpf: adopt: Link descriptor %d: %w", fd, bare(err))
	}
	info, err := l.Info()
	if err == nil && info.XDP() == nil {
		err = fmt.Errorf("a link of another kind: %w", unix.EINVAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bpf: adopt: Link descriptor %d: %w", fd, bare(err)), l.Close())
	}
	return &linkTie{link: l, program: uint32(info.Program)}, nil
}
