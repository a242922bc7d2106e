// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/cilium/ebpf"
)

// Allow takes the datagrams of f from now on. Allowing twice is the same as once.
// A full table (1024 entries) is an error that is syscall.E2BIG.
func (p *Program) Allow(f Filter) error {
	if err := f.validate(); err != nil {
		return err
	}
	return p.use("allow "+f.String(), func() error {
		for _, key := range f.keys() {
			err := p.maps.filters.Update(key[:], uint32(1), ebpf.UpdateAny)
			if errors.Is(err, syscall.E2BIG) {
				return fmt.Errorf("bpf: allow %s: the table of %d filters is full: %w", f, p.maps.filters.MaxEntries(), bare(err))
			}
			if err != nil {
				return fmt.Errorf("bpf: allow %s: %w", f, bare(err))
			}
		}
		return nil
	})
}

// Deny leaves the datagrams of f to the kernel from now on. Denying what was not
// allowed does nothing.
func (p *Program) Deny(f Filter) error {
	if err := f.validate(); err != nil {
		return err
	}
	return p.use("deny "+f.String(), func() error {
		for _, key := range f.keys() {
			err := p.maps.filters.Delete(key[:])
			if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return fmt.Errorf("bpf: deny %s: %w", f, bare(err))
			}
		}
		return nil
	})
}

// SetQueue hands the frames of a receive queue to the AF_XDP socket fd, in place
// of an earlier one. The socket must be bound to that queue of this interface:
// the kernel drops what it redirects to any other. The kernel takes a socket out
// by itself when it is closed; fd stays the caller's.
func (p *Program) SetQueue(queue, fd int) error {
	return p.use("set queue", func() error {
		if err := p.checkQueue("set", queue); err != nil {
			return err
		}
		if fd < 0 {
			return fmt.Errorf("bpf: set queue %d: descriptor %d: %w", queue, fd, syscall.EBADF)
		}
		err := p.maps.queues.Update(uint32(queue), uint32(fd), ebpf.UpdateAny)
		if errors.Is(err, syscall.ENOTSOCK) || errors.Is(err, syscall.EOPNOTSUPP) {
			return fmt.Errorf("bpf: set queue %d: descriptor %d is no AF_XDP socket: %w", queue, fd, bare(err))
		}
		if err != nil {
			return fmt.Errorf("bpf: set queue %d: descriptor %d: %w", queue, fd, bare(err))
		}
		return nil
	})
}

// ClearQueue leaves the frames of a receive queue to the kernel again. Clearing
// an empty queue does nothing.
func (p *Program) ClearQueue(queue int) error {
	return p.use("clear queue", func() error {
		if err := p.checkQueue("clear", queue); err != nil {
			return err
		}
		err := p.maps.queues.Delete(uint32(queue))
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("bpf: clear queue %d: %w", queue, bare(err))
		}
		return nil
	})
}

func (p *Program) checkQueue(step string, queue int) error {
	if queue >= 0 && queue < p.info.Queues {
		return nil
	}
	return fmt.Errorf("bpf: %s queue %d: the queue map holds 0 to %d (Config.Queues): %w",
		step, queue, p.info.Queues-1, syscall.EINVAL)
}

// SetMAC makes mac the destination address that frames must carry. Attach sets
// the interface's; call SetMAC when that changes.
func (p *Program) SetMAC(mac net.HardwareAddr) error {
	return p.use("set MAC", func() error {
		if len(mac) != 6 {
			return fmt.Errorf("bpf: set MAC %q: %d bytes long, not 6: %w", mac, len(mac), syscall.EINVAL)
		}
		if mac[0]&1 != 0 {
			return fmt.Errorf("bpf: set MAC %s: a group address: %w", mac, syscall.EINVAL)
		}
		return p.maps.setMAC(mac)
	})
}

func (m *maps) setMAC(mac net.HardwareAddr) error {
	var entry [8]byte
	copy(entry[:], mac)
	if err := m.own.Update(ownMAC, entry[:], ebpf.UpdateAny); err != nil {
		return fmt.Errorf("bpf: set MAC %s: %w", mac, bare(err))
	}
	return nil
}

// Counters reads all counters, one after the other, while they may go on counting.
func (p *Program) Counters() (Counters, error) {
	var c Counters
	err := p.use("read counters", func() error {
		var cpus []uint64
		for reason, sum := range c.fields() {
			if err := p.maps.counters.Lookup(uint32(reason), &cpus); err != nil {
				return fmt.Errorf("bpf: read counters: %w", bare(err))
			}
			for _, n := range cpus {
				*sum += n
			}
		}
		return nil
	})
	return c, err
}

// bare gives the system call's own error, without the wording of the layers
// between it and us; they suggest remedies that do not fit here.
func bare(err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
