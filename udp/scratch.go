// SPDX-License-Identifier: MIT

package udp

import (
	"sync"
	"sync/atomic"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/umem"
)

// extra is what few datagrams have: a message of the kernel lane, or the frames
// after the first. A Received has a pointer to it only so that those of the fast
// lane stay small.
//
// A Received may be copied, and the copy be given back after it. So each has the
// number of the use that it means, as a frame has.
type extra struct {
	uses   atomic.Uint32
	msg    lane.Message
	frames []umem.Frame // after the first
	rest   [][]byte     // their payload
	next   *extra       // in a list of free ones
}

// end ends a use; false means that it has ended before.
func (x *extra) end(use uint32) bool { return x.uses.CompareAndSwap(use, use+1) }

// push puts x before the list and returns that.
func (x *extra) push(list *extra) *extra {
	x.next = list
	return x
}

// scratch lends space: for messages during a call that receives, and for what
// datagrams have beside themselves while the caller holds them.
type scratch struct {
	mu    sync.Mutex // guards what follows
	calls [][]lane.Message
	free  *extra
}

func (m *scratch) get() []lane.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.calls); n > 0 {
		b := m.calls[n-1]
		m.calls = m.calls[:n-1]
		return b
	}
	return make([]lane.Message, batch)
}

func (m *scratch) put(b []lane.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, b)
}

// keep copies a message to where it can stay.
func (m *scratch) keep(msg lane.Message) *extra {
	m.mu.Lock()
	x := m.free
	if x != nil {
		m.free = x.next
	}
	m.mu.Unlock()
	if x == nil {
		x = new(extra)
	}
	x.msg = msg
	return x
}

// all returns the list of free ones, which are the caller's from then on.
func (m *scratch) all() *extra {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.free
	m.free = nil
	return list
}

// drop takes a list of them back, whose uses have ended.
func (m *scratch) drop(list *extra) {
	if list == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for x := list; x != nil; x = list {
		list = x.next
		m.free = x.push(m.free)
	}
}
