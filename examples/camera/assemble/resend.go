// SPDX-License-Identifier: MIT

package assemble

import (
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// looks is how many times in InitialPacketTimeout it is looked for what is
	// missing.
	looks = 2
	// maxRequests is how many requests may wait for Requests.
	maxRequests = 1024
)

// Tick does what is due at a time: images that are given up, and packets that are
// asked for. Call it after each batch of packets, and now and then while none come.
func (a *Assembler) Tick(now time.Time) {
	if len(a.flight) == 0 || now.Before(a.nextLook) {
		return
	}
	a.nextLook = now.Add(a.cfg.InitialPacketTimeout / looks)
	for i, m := range a.flight {
		if !m.refused && a.resends(m) {
			a.ask(m, i < len(a.flight)-1, now)
		}
	}
	a.deliver(now)
}

// Requests appends to dst what to ask the camera for, once.
func (a *Assembler) Requests(dst []gv.Resend) []gv.Resend {
	dst = append(dst, a.requests...)
	a.requests = a.requests[:0]
	return dst
}

// ask asks for those packets of an image that are due. Which ones there must be is
// known from the ones after them; and, when the next image has begun or nothing has
// come for a while, from the size of the image.
func (a *Assembler) ask(m *Image, followed bool, now time.Time) {
	last := m.highest
	if followed || now.Sub(m.Last) >= a.cfg.PacketTimeout {
		last = a.expected(m)
	}
	if m.got == int(last)+1 {
		return
	}
	if n := int(last) + 1; len(m.waits) < n {
		m.waits = append(m.waits, make([]wait, n-len(m.waits))...)
	}
	due := 0
	for id := uint32(0); id <= last; id++ {
		switch w := &m.waits[id]; {
		case m.has(id):
		case w.due.IsZero():
			w.due = now.Add(a.cfg.InitialPacketTimeout)
		case !now.Before(w.due):
			due++
		}
	}
	if m.asked+due > max(1, int(float64(last+1)*a.cfg.ResendRatio)) {
		m.noResend = true
		a.counters.ResendRatioReached++
		return
	}
	for id := uint32(0); due > 0 && id <= last; id++ {
		if w := &m.waits[id]; !m.has(id) && !now.Before(w.due) && a.request(m, id) {
			w.due, w.asked = now.Add(a.cfg.PacketTimeout), true
			due--
		}
	}
}

// request asks for one packet, together with the one before it if that is asked for
// too. It returns false if there is no room.
func (a *Assembler) request(m *Image, id uint32) bool {
	n := len(a.requests)
	switch {
	case n > 0 && a.requests[n-1].Block == m.ID && a.requests[n-1].Last+1 == id:
		a.requests[n-1].Last = id
	case n == maxRequests:
		return false // nobody takes them
	default:
		a.requests = append(a.requests, gv.Resend{Block: m.ID, First: id, Last: id, Extended: m.extended})
	}
	a.counters.ResendRequests++
	m.asked++
	return true
}
