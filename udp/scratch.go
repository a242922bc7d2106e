// SPDX-License-Identifier: MIT

package udp

import (
	"sync"

	"github.com/xdpath/xdpath/internal/lane"
)

// messages lends space for messages of the kernel lane: for a call that receives,
// and for datagrams that the caller holds, which have a pointer only so that those
// of the fast lane stay small.
type messages struct {
	mu    sync.Mutex // guards what follows
	calls [][]lane.Message
	held  []*lane.Message
}

func (m *messages) get() []lane.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.calls); n > 0 {
		b := m.calls[n-1]
		m.calls = m.calls[:n-1]
		return b
	}
	return make([]lane.Message, batch)
}

func (m *messages) put(b []lane.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, b)
}

// keep copies a message to where it can stay.
func (m *messages) keep(msg lane.Message) *lane.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	var p *lane.Message
	if n := len(m.held); n > 0 {
		p, m.held = m.held[n-1], m.held[:n-1]
	} else {
		p = new(lane.Message)
	}
	*p = msg
	return p
}

// drop gives the place back.
func (m *messages) drop(p *lane.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*p = lane.Message{}
	m.held = append(m.held, p)
}
