// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// NIC is a handle on one interface, by its index in one network namespace. It owns
// a few netlink sockets and no more; the interface may go at any time.
//
// All methods may be called from any goroutine and any thread, whatever namespace
// that is in.
type NIC struct {
	index int
	ask   *requester
	old   *channelIoctl // where ethtool has no netlink; otherwise nil

	netdev, ethtool family

	records []string // folders for records of settings, best first

	watch *Watcher               // made by Open, for its sockets must be of this namespace
	name  atomic.Pointer[string] // the last one seen, for error texts

	mu     sync.RWMutex // held for reading by requests; Close writes
	closed bool
}

// Open opens the interface of that name in the network namespace of the calling
// thread. It must be closed. A name that is longer than 15 bytes is refused, never
// cut. The error of a missing interface is ErrNoInterface.
func Open(name string) (*NIC, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("nic: open %q: %w", name, err)
	}
	n, err := open(0, name)
	if err != nil {
		return nil, fmt.Errorf("nic: open %s: %w", name, err)
	}
	return n, nil
}

// OpenIndex is Open by the interface's index.
func OpenIndex(index int) (*NIC, error) {
	if index <= 0 || index > 1<<31-1 {
		return nil, fmt.Errorf("nic: open interface %d: %w", index, ErrNoInterface)
	}
	n, err := open(index, "")
	if err != nil {
		return nil, fmt.Errorf("nic: open interface %d: %w", index, err)
	}
	return n, nil
}

// checkName refuses what cannot be a name, before the kernel sees part of it.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("the name has %d bytes, at most %d are possible: %w", len(name), maxName, ErrNoInterface)
	case name == "" || strings.ContainsRune(name, 0):
		return fmt.Errorf("not a name: %w", ErrNoInterface)
	}
	return nil
}

func open(index int, name string) (*NIC, error) {
	ask, err := newRequester()
	if err != nil {
		return nil, err
	}
	n := &NIC{ask: ask, records: recordDirs()}
	if err := n.init(index, name); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *NIC) init(index int, name string) error {
	link, err := n.ask.link(index, name)
	if err != nil {
		return err
	}
	n.index = link.Index
	n.name.Store(&link.Name)
	if n.netdev, err = n.ask.family(netdevFamily); err != nil {
		return err
	}
	if n.ethtool, err = n.ask.family(unix.ETHTOOL_GENL_NAME); err != nil {
		return err
	}
	if n.ethtool.id == 0 {
		if n.old, err = newChannelIoctl(); err != nil {
			return err
		}
	}
	n.watch, err = newWatcher(n)
	return err
}

// Index is the interface's index. It does not change.
func (n *NIC) Index() int { return n.index }

// Link asks the kernel for all the facts, now. The error of an interface that is
// gone is ErrNoInterface; after Close it is net.ErrClosed.
func (n *NIC) Link() (Link, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	l, err := n.link()
	if err != nil {
		return Link{}, fmt.Errorf("nic: read %s: %w", n.label(), err)
	}
	return l, nil
}

// label names the interface in errors.
func (n *NIC) label() string {
	return *n.name.Load() + " (index " + strconv.Itoa(n.index) + ")"
}

// link is Link for callers that hold mu for reading.
func (n *NIC) link() (Link, error) {
	if n.closed {
		return Link{}, net.ErrClosed
	}
	l, err := n.ask.link(n.index, "")
	if err != nil {
		return Link{}, err
	}
	n.name.Store(&l.Name)
	if err := n.ask.addrs(&l); err != nil {
		return Link{}, err
	}
	if err := n.queues(&l); err != nil {
		return Link{}, err
	}
	if l.XDP, err = n.ask.features(n.netdev, n.index); err != nil {
		return Link{}, err
	}
	if driver := n.driver(l.Name); driver != "" {
		l.Driver = driver
	}
	namePrograms(l.Programs, nil)
	return l, nil
}

// queues fills in the queue counts as the driver tells them. Where it does not, a
// link is left with the counts of rtnetlink: what was allocated is what is active.
func (n *NIC) queues(l *Link) error {
	var c channels
	var ok bool
	var err error
	if n.old != nil {
		c, ok, err = n.old.channels(l.Name)
	} else {
		c, ok, err = n.ask.channels(n.ethtool, n.index)
	}
	if ok {
		c.queues(l)
	}
	return err
}

// driver asks by name, the only key of the ioctl. It is for people to read: an
// interface without a driver, or one just renamed, is no error.
func (n *NIC) driver(name string) string {
	info, err := unix.IoctlGetEthtoolDrvinfo(n.ask.fd(), name)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Driver[:])
}

// namePrograms fills in the names of programs, of which the known ones need no
// question. A program whose name may not be asked keeps none.
func namePrograms(programs, known []Program) {
	for i := range programs {
		p := &programs[i]
		for _, k := range known {
			if k.ID == p.ID {
				p.Name = k.Name
			}
		}
		if p.Name == "" {
			p.Name = programName(p.ID)
		}
	}
}

func programName(id uint32) string {
	prog, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil {
		return ""
	}
	defer func() { _ = prog.Close() }()
	info, err := prog.Info()
	if err != nil {
		return ""
	}
	return info.Name
}

// Close ends the watcher, if there is one, and closes the sockets. It waits for
// requests that are under way. Idempotent.
func (n *NIC) Close() error {
	if n.watch != nil {
		n.watch.Close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	n.ask.close()
	if n.old != nil {
		n.old.close()
	}
	return nil
}
