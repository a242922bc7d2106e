// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
)

// attachment is the tie between the program and the interface. Closing it is
// what takes the program off.
type attachment interface {
	// attached tells whether our program still runs on the interface.
	attached() (bool, error)
	// close takes our program, and only ours, off the interface and frees the
	// descriptors. It is called once.
	close() error
	// linkFD is the descriptor of the BPF link, or -1.
	linkFD() int
}

// maps are the program's tables; see decide.h for what each holds.
type maps struct {
	filters, own, queues, counters *ebpf.Map
}

// The entries of maps.own, as in decide.h. Each is 8 bytes.
const (
	ownMAC   uint32 = iota // 6 bytes, and 2 of zero
	ownStamp               // in the machine's byte order
)

// places has them in the order of mapNames.
func (m *maps) places() [len(mapNames)]**ebpf.Map {
	return [...]**ebpf.Map{&m.filters, &m.own, &m.queues, &m.counters}
}

// bind makes the program's references to tables mean these.
func (m *maps) bind(program *ebpf.ProgramSpec) error {
	for i, place := range m.places() {
		if err := program.Instructions.AssociateMap(mapNames[i], *place); err != nil {
			return fmt.Errorf("bpf: bind map %s: %w", mapNames[i], err)
		}
	}
	return nil
}

func (m *maps) close() error {
	var errs []error
	for _, place := range m.places() {
		if *place != nil {
			errs = append(errs, (*place).Close())
		}
	}
	return errors.Join(errs...)
}

// Info tells what Attach obtained.
type Info struct {
	Interface string // name at the time of Attach
	Ifindex   int
	Mode      Mode   // Native or Generic
	Frags     bool   // takes frames of several buffers
	ProgramID uint32 // as bpftool shows it
	LinkID    uint32 // 0: attached by netlink, stays after a kill
	Queues    int    // size of the queue map

	// Metadata is what a frame may carry, 0 if the plain program runs. Each frame
	// carries only what the driver knew of it.
	Metadata Fields

	Attempts []Attempt
}

// Attempt is one step on the way to what was obtained. The last one of a
// successful Attach has no error.
type Attempt struct {
	Step string // "metadata" (look for what the driver and the kernel offer), "load" or "attach"
	Mode Mode   // for "attach"
	// Frags: the program for frames of several buffers. Metadata: the one with metadata.
	Frags, Metadata bool
	Err             error
}

// String gives the attempt and its result on one line.
func (a Attempt) String() string {
	s := a.Step
	if a.Step == stepAttach {
		s = a.Mode.String()
	}
	if a.Frags {
		s += " frags"
	}
	if a.Metadata {
		s += " with metadata"
	}
	if a.Err == nil {
		return s + ": ok"
	}
	return fmt.Sprintf("%s: %v", s, a.Err)
}

const (
	stepMetadata = "metadata"
	stepLoad     = "load"
	stepAttach   = "attach"
)

// Program is an XDP program on an interface, with its tables. It takes frames
// only once a filter and a socket are in.
//
// All methods may be called from several goroutines at once. After Close they
// return an error that is net.ErrClosed.
type Program struct {
	// mu is held for reading by each method, so that Close waits for them and no
	// descriptor is used after it was freed.
	mu     sync.RWMutex
	closed bool

	maps maps
	tie  attachment
	info Info // fixed after Attach

	// stamp is that of the metadata, for readers without mu; Close sets it to 0.
	stamp atomic.Uint64
}

// use runs f while the descriptors are sure to stay open.
func (p *Program) use(step string, f func() error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return fmt.Errorf("bpf: %s: %w", step, net.ErrClosed)
	}
	return f()
}

// Info tells what was obtained; it stays valid after Close.
func (p *Program) Info() Info {
	info := p.info
	info.Attempts = append([]Attempt(nil), p.info.Attempts...)
	return info
}

// Attached tells whether the program still runs on the interface. It is false
// after somebody detached or replaced it and after the interface was deleted.
func (p *Program) Attached() (bool, error) {
	var on bool
	err := p.use("check attachment", func() (err error) {
		on, err = p.tie.attached()
		return err
	})
	return on, err
}

// Close takes the program off the interface first, so that no frame meets a
// half-removed endpoint, and frees everything then. If somebody else's program
// is on the interface by now, that one stays. Close AF_XDP sockets afterwards.
// Further calls do nothing and return nil.
func (p *Program) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.stamp.Store(0)
	return errors.Join(p.tie.close(), p.maps.close())
}
