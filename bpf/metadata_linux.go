// SPDX-License-Identifier: MIT

package bpf

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// bound are the programs with metadata, which fit one device only: the kernel puts
// the driver's own functions into them when they are loaded. Each may be nil.
type bound struct {
	plain, frags *ebpf.Program
	fields       Fields // what they can pass on
}

// loadMetadata loads the programs with metadata, if cfg asks for them. Why there is
// none goes into the attempts, and is an error only if cfg requires them.
func (l *loaded) loadMetadata(cfg Config, d *device) error {
	if cfg.Metadata == MetadataOff {
		return nil
	}
	functions, err := d.calls(cfg)
	if err != nil {
		l.attempts = append(l.attempts, Attempt{Step: stepMetadata, Err: err})
	} else {
		err = l.loadBound(cfg, d, functions)
	}
	if err == nil || cfg.Metadata != MetadataRequire {
		return nil
	}
	return fmt.Errorf("bpf: attach %s: metadata is required: %w; MetadataAuto would go without", d, err)
}

// calls finds the functions that both the driver and the kernel have.
func (d *device) calls(cfg Config) (calls, error) {
	if cfg.Mode == Generic {
		return nil, fmt.Errorf("generic mode has none: %w", unix.EOPNOTSUPP)
	}
	offered, known, err := d.offer()
	if err != nil {
		return nil, fmt.Errorf("ask the driver of %s: %w", d, err)
	}
	if known && offered == 0 {
		return nil, fmt.Errorf("the driver (%s) has none: %w", d.kind, unix.EOPNOTSUPP)
	}
	found, err := kernelCalls(kernelBTF)
	if err != nil || !known {
		return found, err
	}
	if found = found.only(offered); len(found) == 0 {
		return nil, fmt.Errorf("the driver (%s) has only %v, which this kernel does not pass on: %w", d.kind, offered, unix.EOPNOTSUPP)
	}
	return found, nil
}

// loadBound loads the program for the device with frags and without, and fails if
// neither can be had. Both kernel and driver may take only the latter.
func (l *loaded) loadBound(cfg Config, d *device, functions calls) error {
	spec, err := metaObject().open()
	if err != nil {
		return err
	}
	program := spec.Programs[metaName]
	if err := l.maps.bind(program); err != nil {
		return err
	}
	functions.link(program.Instructions)
	program.Ifindex = uint32(d.index)
	program.Flags |= unix.BPF_F_XDP_DEV_BOUND_ONLY
	var plainErr, fragsErr error
	if l.meta.plain, plainErr = ebpf.NewProgram(program); plainErr != nil {
		l.attempts = append(l.attempts, Attempt{Step: stepLoad, Metadata: true, Err: bare(plainErr)})
	}
	if !cfg.NoFrags {
		program.Flags |= unix.BPF_F_XDP_HAS_FRAGS
		if l.meta.frags, fragsErr = ebpf.NewProgram(program); fragsErr != nil {
			l.attempts = append(l.attempts, Attempt{Step: stepLoad, Metadata: true, Frags: true, Err: bare(fragsErr)})
		}
	}
	if l.meta.plain == nil && l.meta.frags == nil {
		return fmt.Errorf("load program %s: %w", metaName, bare(plainErr))
	}
	l.meta.fields = functions.fields()
	return nil
}

func newStamp() stamp {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if s := stamp(binary.NativeEndian.Uint64(b[:])); s != 0 {
			return s
		}
	}
}

func (m *maps) setStamp(s stamp) error {
	if err := m.own.Update(ownStamp, uint64(s), ebpf.UpdateAny); err != nil {
		return fmt.Errorf("bpf: set stamp: %w", bare(err))
	}
	return nil
}

// stamp reads what the program writes. The table of an earlier version of this
// package has no place for it.
func (m *maps) stamp() (stamp, error) {
	var s uint64
	err := m.own.Lookup(ownStamp, &s)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("bpf: read stamp: %w", bare(err))
	}
	return stamp(s), nil
}
