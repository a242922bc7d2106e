// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// loaded holds maps and programs in the kernel, not attached yet.
type loaded struct {
	maps     maps
	plain    *ebpf.Program
	frags    *ebpf.Program // nil where the kernel or the caller has it not
	meta     bound
	attempts []Attempt // only what did not work
}

// closePrograms drops our own descriptors; what is attached lives on by its link.
func (l *loaded) closePrograms() {
	for _, one := range []*ebpf.Program{l.plain, l.frags, l.meta.plain, l.meta.frags} {
		_ = one.Close()
	}
}

// load creates the maps and loads the programs with frags and without. After an
// error nothing is left.
func load(cfg Config) (_ *loaded, err error) {
	spec, err := plainObject().open()
	if err != nil {
		return nil, err
	}
	spec.Maps["queues"].MaxEntries = uint32(cfg.Queues)
	l := &loaded{}
	defer func() {
		if err != nil {
			l.closePrograms()
			_ = l.maps.close()
		}
	}()
	if err := l.createMaps(spec); err != nil {
		return nil, err
	}
	return l, l.loadPrograms(spec, cfg)
}

// createMaps makes the maps and binds the programs' references to them.
func (l *loaded) createMaps(spec *ebpf.CollectionSpec) error {
	for i, place := range l.maps.places() {
		name := mapNames[i]
		m, err := ebpf.NewMap(spec.Maps[name])
		if errors.Is(err, unix.EPERM) {
			return explainMemory("create map "+name, err, mapBytes(spec.Maps[name]))
		}
		if err != nil {
			return fmt.Errorf("bpf: create map %s: %w", name, bare(err))
		}
		*place = m
	}
	for _, program := range spec.Programs {
		if err := l.maps.bind(program); err != nil {
			return err
		}
	}
	return nil
}

// loadPrograms loads the program with frags and without, both of which Linux takes
// from 5.18 on, or else the one for older kernels.
func (l *loaded) loadPrograms(spec *ebpf.CollectionSpec, cfg Config) (err error) {
	plain := spec.Programs[programName]
	if l.plain, err = ebpf.NewProgram(plain); err != nil {
		if errors.Is(err, unix.EPERM) || !kernelBefore(5, 18) {
			return explainLoad(plain, err)
		}
		l.attempts = append(l.attempts, Attempt{Step: stepLoad, Err: bare(err)})
		l.plain, err = ebpf.NewProgram(spec.Programs[oldName])
		return explainLoad(spec.Programs[oldName], err)
	}
	if cfg.NoFrags {
		return nil
	}
	frags := plain.Copy()
	frags.Flags |= unix.BPF_F_XDP_HAS_FRAGS
	if l.frags, err = ebpf.NewProgram(frags); err != nil {
		l.attempts = append(l.attempts, Attempt{Step: stepLoad, Frags: true, Err: bare(err)})
	}
	return nil
}

func explainLoad(spec *ebpf.ProgramSpec, err error) error {
	step := "load program " + spec.Name
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return explainMemory(step, err, 8*len(spec.Instructions))
	case errors.Is(err, unix.EACCES) && spec.Name == oldName && missing(effective(), []int{unix.CAP_PERFMON}, kernelBefore(5, 8)) != "":
		return fmt.Errorf("bpf: %s: needs CAP_PERFMON before Linux 5.18: %w", step, err)
	}
	return fmt.Errorf("bpf: %s: %w", step, bare(err))
}

// mapBytes is about what a map takes in kernel memory, for the message about the
// memory limit.
func mapBytes(spec *ebpf.MapSpec) int {
	const overhead = 512 // the map itself, and a pointer per entry or hash bucket
	entry := int(spec.ValueSize) + 16
	if spec.Type == ebpf.PerCPUArray {
		cpus, err := ebpf.PossibleCPU()
		if err != nil {
			cpus = 1
		}
		entry *= cpus
	}
	return overhead + entry*int(spec.MaxEntries)
}
