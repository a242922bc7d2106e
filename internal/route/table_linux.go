// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Table is the view that one sender has of the kernel's tables, in one network
// namespace. It owns three netlink sockets and two goroutines, and must be closed.
//
// All methods may be called from any goroutine and any thread, whatever namespace
// that is in. Resolve, Solicit and Keep ask the kernel and are not for every
// datagram; Generation is.
type Table struct {
	gen    generation
	cfg    Config
	timing timing
	mirror *mirror

	// Routes are found without a lock of the kernel. What may have to wait for the
	// one lock of all configuration goes through slow, so that it delays no route.
	routes, slow *requester
	events       *socket

	counts    [numCauses]atomic.Uint64
	solicited atomic.Uint64
	denied    atomic.Bool   // the last solicitation was: ErrNotPermitted
	unsettled chan struct{} // a token: something changed that the kernel may not have finished
	keep      *keeper

	stop      chan struct{} // closed by Close
	closeOnce sync.Once
	wg        sync.WaitGroup
}

// timing is what the tests have shorter.
type timing struct {
	settle  time.Duration // from a change to when the kernel has surely finished it
	refresh time.Duration // how often all answers become old without a reason
	retry   time.Duration // between attempts to read the tables
	solicit time.Duration // the least between two requests about one neighbour
	tick    time.Duration // between looks at the hops that are kept
	fresh   time.Duration // after which a hop that is kept is confirmed
}

func defaultTiming() timing {
	return timing{
		settle:  100 * time.Millisecond,
		refresh: 30 * time.Second,
		retry:   100 * time.Millisecond,
		solicit: time.Second,             // as the kernel spaces its questions
		tick:    1050 * time.Millisecond, // a little more, so that each tick may solicit
		fresh:   30 * time.Second,
	}
}

// eventBuffer is the room for notifications that are not read yet, in bytes: a few
// hundred links or a few thousand routes.
const eventBuffer = 1 << 20

// Open opens the tables of the network namespace of the calling thread, and follows
// them from now on. The error of a missing interface is ENODEV.
func Open(cfg Config) (*Table, error) {
	t, err := newTable(cfg)
	if err != nil {
		return nil, fmt.Errorf("route: open for interface %d: %w", cfg.Ifindex, err)
	}
	t.launch()
	return t, nil
}

// newTable is Open without the goroutines.
func newTable(cfg Config) (*Table, error) {
	t := &Table{
		cfg:       cfg,
		timing:    defaultTiming(),
		mirror:    newMirror(cfg),
		unsettled: make(chan struct{}, 1),
		stop:      make(chan struct{}),
		keep:      newKeeper(),
	}
	t.gen.bump() // so that no Answer is valid that was never asked for
	if err := t.init(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Table) init() (err error) {
	if t.routes, err = newRequester(answerSize); err != nil {
		return err
	}
	if t.slow, err = newRequester(dumpSize); err != nil {
		return err
	}
	if t.events, err = openSocket(); err != nil {
		return err
	}
	t.events.setBuffer(eventBuffer)
	// Subscribe first and read afterwards: nothing falls between.
	for _, g := range groups() {
		if err := t.events.join(g); err != nil {
			return fmt.Errorf("join netlink group %d: %w", g, err)
		}
	}
	// Next hop objects are there since Linux 5.3.
	if err := t.events.join(unix.RTNLGRP_NEXTHOP); err != nil && err != unix.EINVAL {
		return fmt.Errorf("join netlink group %d: %w", unix.RTNLGRP_NEXTHOP, err)
	}
	if err := t.read(); err != nil {
		return err
	}
	if _, ok := t.mirror.link(t.cfg.Ifindex); !ok {
		return fmt.Errorf("no such interface in this network namespace: %w", unix.ENODEV)
	}
	return nil
}

func (t *Table) launch() {
	t.wg.Go(t.follow)
	t.wg.Go(t.maintain)
}

// read fills the mirror with the kernel's tables.
func (t *Table) read() error {
	links, err := list(t.slow, unix.RTM_GETLINK, linkRequest(0), func(m map[int]link, b []byte) error {
		found, err := parseLink(b)
		if err == nil && found.family == unix.AF_UNSPEC {
			m[found.index] = found.link
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read links: %w", err)
	}
	neighs, err := list(t.slow, unix.RTM_GETNEIGH, make([]byte, unix.SizeofNdMsg), func(m map[Hop]neighbour, b []byte) error {
		h, n, ok, err := parseNeighbour(b)
		if ok && t.mirror.accept[h.Ifindex] {
			m[h] = n
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read neighbours: %w", err)
	}
	t.mirror.replace(links, neighs)
	return nil
}

// skipStats keeps the counters out of the answer (RTEXT_FILTER_SKIP_STATS).
const skipStats = 1 << 3

// linkRequest is the body that asks for an interface, or with 0 for all.
func linkRequest(index int) []byte {
	b := make([]byte, unix.SizeofIfInfomsg, 2*unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	return putUint32(b, unix.IFLA_EXT_MASK, skipStats)
}

// Stats returns the counts so far.
func (t *Table) Stats() Stats {
	return Stats{
		Generation: t.gen.load(),
		Links:      t.counts[linkChanged].Load(),
		Addresses:  t.counts[addressChanged].Load(),
		Routes:     t.counts[routeChanged].Load(),
		Rules:      t.counts[ruleChanged].Load(),
		Neighbours: t.counts[neighbourChanged].Load(),
		Overruns:   t.counts[overrun].Load(),
		Solicited:  t.solicited.Load(),
	}
}

// Close ends the goroutines and closes the sockets. Requests that are under way are
// waited for; later ones fail with net.ErrClosed. Those who wait for a change are
// woken. Idempotent.
func (t *Table) Close() error {
	t.closeOnce.Do(func() {
		close(t.stop)
		if t.events != nil {
			t.events.close()
		}
		for _, r := range []*requester{t.routes, t.slow} {
			if r != nil {
				r.close()
			}
		}
	})
	t.wg.Wait()
	t.gen.close()
	return nil
}
