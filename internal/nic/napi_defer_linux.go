// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Deferred is what one call of DeferNAPI did, until Restore undoes it. It is the
// interface's setting, and thus outlives sockets, programs and processes; a NAPI that
// goes takes its values with it on most drivers.
//
// All methods may be called from any goroutine.
type Deferred struct {
	nic      *NIC
	dir      string // of the records
	settings []Setting

	mu   sync.Mutex
	held []held // not restored yet
}

// held is one setting with the lock that makes this process an owner of its record.
type held struct {
	rec  record
	name string   // of the record
	file *os.File // locked, shared
}

// knobAccess reads and writes the two values, by what the kernel offers.
type knobAccess interface {
	targets(queues []int) ([]target, error)
	get(napi uint32) (knobs, error)
	set(napi uint32, v knobs) error
}

// accessTo is the way to a target, one NAPI or (0) the interface.
func (n *NIC) accessTo(napi uint32) knobAccess {
	if napi == 0 {
		return sysfsKnobs{ask: n.ask, index: n.index}
	}
	return netlinkKnobs{ask: n.ask, family: n.netdev.id, index: n.index}
}

// access is the way to the finest targets there are.
func (n *NIC) access() knobAccess {
	if n.netdev.commands[netdevCmdNAPISet] {
		return n.accessTo(1)
	}
	return n.accessTo(0)
}

// DeferNAPI defers the interrupts of the NAPIs that serve some receive queues, or of
// all NAPIs for no queues: by netlink for each (Linux 6.13), before that for the
// interface as a whole. Where the driver does not tell which NAPI serves which queue
// (veth does not), all are deferred. Info tells what was done.
//
// What stood there before is recorded in a file first, under /run/xdpath or else in a
// folder of the user's under os.TempDir, and is restored by Restore; after a crash,
// by the next DeferNAPI or RestoreNAPI on the interface, of any process of the user's.
// What somebody else has set since is left alone.
//
// Two Deferred of one or two processes share a NAPI if they want the same values, and
// the last one restores; if not, the second one is refused, which is EBUSY. Processes
// that do not share a folder (other users, containers with a /run of their own) do
// not see each other: the second takes the first one's values for the old ones.
//
// It needs CAP_NET_ADMIN, in sysfs CAP_SYS_ADMIN too. The interface must be up and,
// if it is a veth, have its XDP program attached. A NAPI that is made anew, when the
// interface goes down and up, its queues change or (veth) a program is attached, has
// the values of the interface: Restore, and call again.
func (n *NIC) DeferNAPI(queues []int, d Deferral) (*Deferred, error) {
	d = d.withDefaults()
	if err := d.validate(); err != nil {
		return nil, err
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	done, err := n.deferNAPI(queues, d)
	if err != nil {
		return nil, fmt.Errorf("nic: defer interrupts of %s: %w", n.label(), err)
	}
	return done, nil
}

// Info tells what was set where: one for each NAPI or one for the interface.
func (d *Deferred) Info() []Setting { return slices.Clone(d.settings) }

func (n *NIC) deferNAPI(queues []int, d Deferral) (*Deferred, error) {
	queues, err := checkQueues(queues)
	if err != nil {
		return nil, err
	}
	who, err := n.identity()
	if err != nil {
		return nil, err
	}
	if err := n.restoreStale(who); err != nil {
		return nil, err
	}
	access := n.access()
	targets, err := access.targets(queues)
	if err != nil {
		return nil, err
	}
	s, err := createStore(n.records)
	if err != nil {
		return nil, err
	}
	w := &workshop{nic: n, store: s, who: who}
	defer w.close()
	done := &Deferred{nic: n, dir: s.dir}
	for _, t := range targets {
		h, setting, err := w.deferOne(access, t, d.knobs())
		if err != nil {
			_, undo := w.restoreAll(done.held)
			return nil, errors.Join(fmt.Errorf("%v: %w", t, err), undo)
		}
		done.held = append(done.held, h)
		done.settings = append(done.settings, setting)
	}
	return done, nil
}

// checkQueues sorts the queues and refuses what cannot be one.
func checkQueues(queues []int) ([]int, error) {
	queues = slices.Sorted(slices.Values(queues))
	for _, q := range queues {
		if q < 0 || q > math.MaxInt32 {
			return nil, fmt.Errorf("queue %d: want 0 to %d: %w", q, math.MaxInt32, unix.EINVAL)
		}
	}
	return slices.Compact(queues), nil
}

// Restore puts the old values back, where nobody else holds the same setting or has
// written another value since, and forgets the record. What is gone with its NAPI or
// its interface needs no restoring. Idempotent; after an error it may be called again,
// and the record stays for the next start. The error of an interface that is down,
// whose NAPIs cannot be reached, is ENETDOWN: drivers that keep the values over it are
// left to the next start. Restore before NIC.Close: afterwards the error is
// net.ErrClosed.
func (d *Deferred) Restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.held) == 0 {
		return nil
	}
	d.nic.mu.RLock()
	defer d.nic.mu.RUnlock()
	left, err := d.restore()
	d.held = left
	if err != nil {
		return fmt.Errorf("nic: restore interrupts of %s: %w", d.nic.label(), err)
	}
	return nil
}

// restore returns what can be tried again.
func (d *Deferred) restore() (left []held, err error) {
	who, err := d.nic.identity()
	switch {
	case errors.Is(err, net.ErrClosed):
		for _, h := range d.held {
			_ = unlock(h.file) // the next start finds a record without an owner
		}
		return nil, fmt.Errorf("closed before: the next start restores: %w", err)
	case errors.Is(err, ErrNoInterface):
		who = identity{} // no interface is the same as none: records are all that is left
	case err != nil:
		return d.held, err
	}
	s, err := createStore([]string{d.dir})
	if err != nil {
		return d.held, err
	}
	w := &workshop{nic: d.nic, store: s, who: who}
	defer w.close()
	return w.restoreAll(d.held)
}

// RestoreNAPI puts back what a process that ended without Restore left on the
// interface. Living owners are left alone. It needs no privilege if there is nothing
// to restore; DeferNAPI does the same first.
func (n *NIC) RestoreNAPI() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	who, err := n.identity()
	if err == nil {
		err = n.restoreStale(who)
	}
	if err != nil {
		return fmt.Errorf("nic: restore interrupts of %s: %w", n.label(), err)
	}
	return nil
}

// restoreStale looks in every folder there is.
func (n *NIC) restoreStale(who identity) error {
	for _, dir := range n.records {
		s, err := openStore(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // never used, or not this user's
		}
		if err != nil {
			return err
		}
		w := &workshop{nic: n, store: s, who: who}
		err = w.restoreStale()
		w.close()
		if err != nil {
			return err
		}
	}
	return nil
}
