// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// pollInterval is how often a watcher reads all facts without being told to. The
// kernel sends no notification when a BPF link attaches a program or is detached,
// and before Linux 5.6 none of changed queues.
const pollInterval = time.Second

// eventBuffer is the receive buffer asked for on each event socket, in bytes: a
// few hundred messages, of all interfaces of the namespace.
const eventBuffer = 1 << 20

// Watcher reports the changes of one interface. It is obtained from NIC.Watch and
// must be closed, by its own Close or the NIC's.
//
// Events may be received by any goroutines, and Close called from any.
type Watcher struct {
	nic     *NIC
	sockets []eventSocket
	events  chan Event
	notes   chan note     // from the readers to run
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when run has ended
	poll    time.Duration

	mu      sync.Mutex
	started bool
	closed  bool
	wg      sync.WaitGroup
}

// eventSocket is one multicast socket, with how to understand its messages.
type eventSocket struct {
	*nl.NetlinkSocket
	groups []int
	parse  func(typ uint16, body []byte) (note, bool, error)
}

// newWatcher opens the sockets in the namespace of the calling thread. They belong
// to no group yet, so that nothing piles up in them.
func newWatcher(n *NIC) (*Watcher, error) {
	w := &Watcher{
		nic:    n,
		events: make(chan Event),
		notes:  make(chan note),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		poll:   pollInterval,
	}
	err := w.open(unix.NETLINK_ROUTE, w.routeNote,
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
	if group, ok := n.ethtool.groups[unix.ETHTOOL_MCGRP_MONITOR_NAME]; ok && err == nil {
		err = w.open(unix.NETLINK_GENERIC, w.ethtoolNote, group)
	}
	if err != nil {
		w.closeSockets()
		return nil, err
	}
	return w, nil
}

func (w *Watcher) open(protocol int, parse func(uint16, []byte) (note, bool, error), groups ...int) error {
	s, err := newSocket(protocol)
	if err != nil {
		return err
	}
	w.sockets = append(w.sockets, eventSocket{NetlinkSocket: s, groups: groups, parse: parse})
	// A small buffer costs a reading of all facts at each overrun, nothing worse.
	if s.SetReceiveBufferSize(eventBuffer, true) != nil {
		_ = s.SetReceiveBufferSize(eventBuffer, false)
	}
	return nil
}

func (w *Watcher) closeSockets() {
	for _, s := range w.sockets {
		s.Close()
	}
}

// Watch starts to report changes from now on: those that happen after Watch has
// returned are never missed, and events of one kind that are not received in time
// are reported as one, the latest. What has no notification is noticed within a
// second. A NIC can be watched once; a second call is an error.
func (n *NIC) Watch() (*Watcher, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return nil, fmt.Errorf("nic: watch %s: %w", n.label(), net.ErrClosed)
	}
	if err := n.watch.start(); err != nil {
		return nil, fmt.Errorf("nic: watch %s: %w", n.label(), err)
	}
	return n.watch, nil
}

var errWatched = errors.New("it is watched already, or has been; open it once more")

func (w *Watcher) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.closed {
		return errWatched
	}
	// Join first and read afterwards: nothing falls between.
	if err := w.join(); err != nil {
		return err
	}
	now, err := w.nic.link()
	if err != nil {
		return err
	}
	w.launch(now)
	return nil
}

func (w *Watcher) join() error {
	for _, s := range w.sockets {
		for _, g := range s.groups {
			if err := unix.SetsockoptInt(s.GetFd(), unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, g); err != nil {
				return fmt.Errorf("join netlink group %d: %w", g, err)
			}
		}
	}
	return nil
}

// launch starts the goroutines, with the facts that the first change is told from.
func (w *Watcher) launch(now Link) {
	w.started = true
	for _, s := range w.sockets {
		w.wg.Go(func() { w.read(s) })
	}
	w.wg.Go(func() { w.run(now) })
}

// Events is the channel of events. It is closed after Gone, and by Close.
func (w *Watcher) Events() <-chan Event { return w.events }

// Close stops the watcher, closes the channel of events and waits until its
// goroutines have ended. Idempotent.
func (w *Watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	close(w.stop)
	w.closeSockets() // wakes the readers
	w.wg.Wait()
	if !w.started {
		close(w.events)
	}
}

// run keeps the state of the interface and hands out events. It alone sends on
// events and closes it.
func (w *Watcher) run(now Link) {
	defer close(w.events)
	defer close(w.done)
	ticker := time.NewTicker(w.poll)
	defer ticker.Stop()
	st := state{now: now}
	for !st.ended() {
		var out chan<- Event // nil, which is never ready, while there is nothing to say
		var next Event
		if len(st.pending) > 0 {
			out, next = w.events, st.pending[0]
		}
		select {
		case <-w.stop:
			return
		case n := <-w.notes:
			w.apply(&st, n)
		case <-ticker.C:
			w.apply(&st, note{what: factsUnknown})
		case out <- next:
			st.pending = slices.Delete(st.pending, 0, 1)
		}
	}
}
