// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Attach loads the program and puts it on the interface, in the network
// namespace of the calling thread. Until Allow and SetQueue are called it lets
// everything pass.
//
// It needs CAP_NET_ADMIN and CAP_BPF (before Linux 5.18 also CAP_PERFMON, before
// 5.8 CAP_SYS_ADMIN instead); the error says which one is missing for which step.
// Other errors to look for with errors.Is: ErrForeignProgram, unix.ENODEV for no
// such interface, unix.ERANGE or EINVAL for an MTU above what a native program
// without frags takes, unix.EOPNOTSUPP for a driver without native XDP or without
// the metadata that was required. After an error nothing is left behind.
func Attach(cfg Config) (*Program, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d, err := openDevice(cfg)
	if err != nil {
		return nil, err
	}
	p, err := attach(cfg, d, !kernelBefore(5, 9))
	if err != nil {
		d.close()
		return nil, err
	}
	return p, nil
}

// attach does the work on an open device. useLink is false where the kernel has
// no BPF link for XDP. On success the device belongs to the Program (or is closed).
func attach(cfg Config, d *device, useLink bool) (_ *Program, err error) {
	if err := d.refuseForeign(cfg.Replace); err != nil {
		return nil, err
	}
	l, err := load(cfg)
	if err != nil {
		return nil, err
	}
	defer l.closePrograms()
	defer func() {
		if err != nil {
			_ = l.maps.close()
		}
	}()
	if err := l.loadMetadata(cfg, d); err != nil {
		return nil, err
	}
	if err := l.maps.setMAC(d.mac); err != nil {
		return nil, err
	}
	restore, err := d.removeForeign(cfg.Replace)
	if err != nil {
		return nil, err
	}
	c := climber{device: d, maps: &l.maps, useLink: useLink, attempts: l.attempts}
	tie, err := c.climb(rungs(cfg, l))
	if err != nil {
		return nil, errors.Join(err, restore.undo())
	}
	restore.forget()
	c.info.Queues = cfg.Queues
	c.info.Attempts = c.attempts
	p := &Program{maps: l.maps, tie: tie, info: c.info}
	p.stamp.Store(uint64(c.stamp))
	return p, nil
}

// rung is one way to attach: a mode and a program.
type rung struct {
	mode     Mode
	frags    bool
	metadata Fields // what the program passes on, 0 for the plain one
	program  *ebpf.Program
}

// attempt is the line in the trace.
func (r rung) attempt(err error) Attempt {
	return Attempt{Step: stepAttach, Mode: r.mode, Frags: r.frags, Metadata: r.metadata != 0, Err: err}
}

// rungs lists the ways to try, the best first. With metadata goes before without, as
// it was asked for; and in each mode the program with frags before that without, as
// some drivers take only the latter (igb says EINVAL, vmxnet3 EOPNOTSUPP).
func rungs(cfg Config, l *loaded) []rung {
	modes := []Mode{cfg.Mode}
	if cfg.Mode == Best {
		modes = []Mode{Native, Generic}
	}
	var list []rung
	for _, mode := range modes {
		if mode == Native && l.meta.frags != nil {
			list = append(list, rung{mode, true, l.meta.fields, l.meta.frags})
		}
		if mode == Native && l.meta.plain != nil {
			list = append(list, rung{mode, false, l.meta.fields, l.meta.plain})
		}
		if cfg.Metadata == MetadataRequire {
			continue
		}
		if l.frags != nil {
			list = append(list, rung{mode, true, 0, l.frags})
		}
		list = append(list, rung{mode, false, 0, l.plain})
	}
	return list
}

// climber tries rung after rung and keeps the trace.
type climber struct {
	device   *device
	maps     *maps
	useLink  bool
	attempts []Attempt
	info     Info
	stamp    stamp
}

// climb stops at the first rung that holds, and at a refusal that no other rung
// would change.
func (c *climber) climb(list []rung) (attachment, error) {
	var refused attachError
	for _, r := range list {
		tie, err := c.try(r)
		c.attempts = append(c.attempts, r.attempt(err))
		if err == nil {
			return tie, nil
		}
		switch {
		case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
			// Somebody attached between our look and our try; or the driver is busy
			// with something else, and generic mode may still do.
			if foreign := c.device.refuseForeign(false); foreign != nil {
				return nil, foreign
			}
		case errors.Is(err, unix.EPERM):
			return nil, explainPermission("attach "+c.device.String(), err, unix.CAP_NET_ADMIN)
		case errors.Is(err, unix.ENODEV):
			return nil, fmt.Errorf("bpf: attach %s: interface is gone: %w", c.device, err)
		}
		refused.add(c.device, r, err)
	}
	refused.device = c.device.String()
	return nil, &refused
}

func (c *climber) try(r rung) (attachment, error) {
	c.info = Info{Interface: c.device.name, Ifindex: c.device.index, Mode: r.mode, Frags: r.frags, Metadata: r.metadata}
	c.stamp = 0
	if r.metadata != 0 {
		c.stamp = newStamp()
	}
	// Before the first frame can meet the program.
	if err := c.maps.setStamp(c.stamp); err != nil {
		return nil, err
	}
	if c.useLink {
		return attachLink(c.device, r, &c.info)
	}
	return attachNetlink(c.device, r, &c.info)
}
