// SPDX-License-Identifier: MIT

package route

import (
	"maps"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// maxAsked bounds the neighbours that are remembered only because an answer was
// about them, though the kernel has no entry. It is above what kernels hold.
const maxAsked = 1 << 14

// mirror is a copy of the kernel's links and neighbours, as the notifications have
// told them so far. Whoever changes it bumps the generation afterwards; whoever
// makes an answer reads the generation first. So an answer from an old copy has an
// old generation.
type mirror struct {
	accept map[int]bool // interfaces whose neighbours count; does not change

	mu     sync.Mutex // held for single reads and writes, never while the kernel is asked
	links  map[int]link
	neighs map[Hop]seen
	count  uint64       // of messages about neighbours so far
	blank  int          // entries of neighs that are asked and not in the kernel's table
	dirty  map[int]bool // links that changed since they were last asked for
}

// seen is a neighbour, with whether an answer has been about it: changes of others
// concern nobody.
type seen struct {
	neighbour
	asked bool
}

func (s seen) blank() bool { return s.asked && s.state == unix.NUD_NONE }

func newMirror(cfg Config) *mirror {
	m := &mirror{
		accept: map[int]bool{cfg.Ifindex: true},
		links:  make(map[int]link),
		neighs: make(map[Hop]seen),
		dirty:  make(map[int]bool),
	}
	for _, index := range cfg.Accept {
		m.accept[index] = true
	}
	return m
}

// link returns what is known of an interface.
func (m *mirror) link(index int) (link, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.links[index]
	return l, ok
}

// zone returns the index of the interface that a zone names, 0 if there is none.
// A name comes before a number, as an interface may be called "5".
func (m *mirror) zone(zone string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for index, l := range m.links {
		if l.name == zone {
			return index
		}
	}
	index, err := strconv.Atoi(zone)
	if _, ok := m.links[index]; err != nil || !ok {
		return 0
	}
	return index
}

// setLink takes what the kernel says of an interface, and tells whether that is
// news. The interface is dirty then.
func (m *mirror) setLink(index int, l link) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.links[index]
	if ok && l.mtu6 == 0 {
		l.mtu6 = old.mtu6 // not every message about a link has IPv6's view
	}
	if ok && l == old {
		return false
	}
	m.links[index] = l
	m.dirty[index] = true
	return true
}

// setMTU6 takes what IPv6 says of an interface.
func (m *mirror) setMTU6(index, mtu int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.links[index]
	if !ok || mtu == 0 || mtu == l.mtu6 {
		return false
	}
	l.mtu6 = mtu
	m.links[index] = l
	return true
}

func (m *mirror) deleteLink(index int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.links[index]
	delete(m.links, index)
	delete(m.dirty, index)
	return ok
}

// takeDirty returns the links that changed since it was last called.
func (m *mirror) takeDirty() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]int, 0, len(m.dirty))
	for index := range m.dirty {
		list = append(list, index)
	}
	clear(m.dirty)
	return list
}

// soil makes the accepted links dirty, so that they are asked for.
func (m *mirror) soil() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for index := range m.accept {
		if _, ok := m.links[index]; ok {
			m.dirty[index] = true
		}
	}
}

// neighbour returns what is known of a neighbour.
func (m *mirror) neighbour(h Hop) neighbour {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.neighs[h].neighbour
}

// ask is neighbour for an answer: from now on changes of this neighbour are news.
// purged tells that all others that had been asked for are none any more, because
// there were too many.
func (m *mirror) ask(h Hop) (n neighbour, purged bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.neighs[h]
	if s.asked {
		return s.neighbour, false
	}
	if s.state == unix.NUD_NONE && m.blank >= maxAsked {
		m.purge()
		purged = true
	}
	s.asked = true
	m.put(h, s)
	return s.neighbour, purged
}

// purge forgets who was asked for.
func (m *mirror) purge() {
	for h, s := range m.neighs {
		s.asked = false
		m.put(h, s)
	}
}

// put stores an entry, or removes one of which nothing is known. mu is held.
func (m *mirror) put(h Hop, s seen) {
	if m.neighs[h].blank() {
		m.blank--
	}
	if s == (seen{}) {
		delete(m.neighs, h)
		return
	}
	m.neighs[h] = s
	if s.blank() {
		m.blank++
	}
}

// setNeighbour takes what a message says of a neighbour, the zero value if it is
// deleted, and tells whether that is news.
func (m *mirror) setNeighbour(h Hop, n neighbour) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	return m.store(h, n)
}

// told counts the messages about neighbours so far.
func (m *mirror) told() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// record is setNeighbour for what the kernel has answered. If there was a message
// since told was before, that may be the newer one, and nothing is recorded. A
// message that is still to come ends with the state that is now, or a newer one.
func (m *mirror) record(h Hop, n neighbour, before uint64) (recorded, news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count != before {
		return false, false
	}
	return true, m.store(h, n)
}

// store is setNeighbour and record. mu is held.
func (m *mirror) store(h Hop, n neighbour) bool {
	if !m.accept[h.Ifindex] {
		return false
	}
	s := m.neighs[h]
	news := s.asked && !s.same(n)
	s.neighbour = n
	m.put(h, s)
	return news
}

// touched notes that the kernel has been told to confirm a neighbour: a stale one
// is on its way, and would be called stale until the confirmation is there.
func (m *mirror) touched(h Hop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.neighs[h]; s.stale() {
		s.state = unix.NUD_DELAY
		m.put(h, s)
	}
}

// replace takes the whole of both tables. Who was asked for remains.
func (m *mirror) replace(links map[int]link, neighs map[Hop]neighbour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = links
	clear(m.dirty)
	m.count++
	old := maps.Clone(m.neighs)
	clear(m.neighs)
	m.blank = 0
	for h, n := range neighs {
		m.put(h, seen{n, old[h].asked})
	}
	for h, s := range old {
		if _, ok := neighs[h]; s.asked && !ok {
			m.put(h, seen{asked: true})
		}
	}
}

// validHop reports whether a Hop can be a neighbour here.
func (m *mirror) validHop(h Hop) bool {
	return m.accept[h.Ifindex] && h.Addr.IsValid() && h.Addr == h.Addr.Unmap().WithZone("") &&
		!h.Addr.IsUnspecified() && !h.Addr.IsMulticast() && h.Addr != limitedBroadcast()
}
