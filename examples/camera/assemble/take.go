// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// take puts a packet into its image.
func (a *Assembler) take(m *Image, p gv.Packet, rest [][]byte, size int, now time.Time) {
	if p.ID > a.largest(m) || p.Extended != m.extended {
		a.counters.SizeMismatchErrors++
		m.mismatch = true
		a.ignore(size)
		return
	}
	length := size - gv.HeaderLen(p.Extended)
	if m.has(p.ID) {
		a.counters.DuplicatedPackets++
		a.counters.TransferredBytes += uint64(size)
		if !a.same(m, p, rest, length) {
			a.counters.ConflictingPackets++
			m.conflict = true
		}
		return
	}
	var ok bool
	switch p.Kind {
	case gv.PartLeader:
		ok = a.leader(m, p)
	case gv.PartPayload:
		if ok = p.ID > 0 && a.place(m, p, rest, length); !ok {
			a.counters.SizeMismatchErrors++
			m.mismatch = true
		}
	case gv.PartTrailer:
		if ok = p.ID > 0 && m.trailer == 0; ok {
			m.trailer = p.ID
		}
	}
	if !ok {
		a.ignore(size)
		return
	}
	a.counters.TransferredBytes += uint64(size)
	if p.Status == gv.Resent || m.wasAsked(p.ID) {
		a.counters.ResentPackets++
	}
	m.mark(p.ID, now)
}

// leader takes what the leader says. Other payload than images is taken too, but
// how long it is only its trailer tells.
func (a *Assembler) leader(m *Image, p gv.Packet) bool {
	if p.ID != 0 {
		return false
	}
	m.hasLeader = true
	l, err := gv.ParseLeader(p.Body)
	if err != nil {
		return true // it has a shorter one: metadata, or what nobody has thought of
	}
	m.Leader = l
	if l.PayloadType != gv.PayloadImage {
		return true
	}
	n := l.Bytes()
	if n > int64(a.cfg.MaxImage) {
		a.counters.SizeMismatchErrors++
		m.mismatch = true
		return true
	}
	m.sized, m.size = true, int(n)
	m.grow(m.size, a.cfg.MaxImage)
	return true
}

// place copies payload to where it belongs, unless it does not fit there.
func (a *Assembler) place(m *Image, p gv.Packet, rest [][]byte, length int) bool {
	full := a.payload(m)
	at := (int(p.ID) - 1) * full
	end := at + length
	limit := a.cfg.MaxImage
	if m.sized {
		limit = m.size
	}
	// An empty packet has no place: one may follow an image that ends with a full one.
	if length > full || length > 0 && end > limit {
		return false
	}
	m.payload = max(m.payload, p.ID)
	if length == 0 {
		if m.empty == 0 || p.ID < m.empty {
			m.empty = p.ID
		}
		return true
	}
	if len(m.buf) < end {
		m.grow(max(end, min(a.bytes, limit)), a.cfg.MaxImage)
	}
	n := copy(m.buf[at:end:end], p.Body)
	for _, s := range rest {
		n += copy(m.buf[at+n:end:end], s)
	}
	if length < full {
		clear(m.buf[end:min(at+full, len(m.buf))])
		if m.short == 0 || p.ID < m.short {
			m.short, m.shortLen = p.ID, length
		}
	}
	m.bytes += length
	m.full = max(m.full, p.ID)
	return true
}

// grow has the buffer hold an image of at least some bytes.
func (m *Image) grow(size, limit int) {
	if size <= len(m.buf) {
		return
	}
	n := size
	if len(m.buf) > 0 && !m.sized {
		n = min(max(size, 2*len(m.buf)), limit) // nobody has said how far this goes
	}
	buf := make([]byte, n)
	copy(buf, m.buf)
	m.buf = buf
}

// same tells whether a packet is the same as the one with its id that came before.
func (a *Assembler) same(m *Image, p gv.Packet, rest [][]byte, length int) bool {
	switch {
	case p.ID == 0:
		l, err := gv.ParseLeader(p.Body)
		return p.Kind == gv.PartLeader && (err != nil || l == m.Leader)
	case p.ID == m.trailer:
		return p.Kind == gv.PartTrailer
	case p.Kind != gv.PartPayload:
		return false
	}
	full := a.payload(m)
	if length != m.length(p.ID, full) {
		return m.mismatch // it was wrong before
	}
	have := m.buf[min((int(p.ID)-1)*full, len(m.buf)):]
	for i := -1; i < len(rest); i++ {
		s := p.Body
		if i >= 0 {
			s = rest[i]
		}
		if len(s) > len(have) || !bytes.Equal(have[:len(s)], s) {
			return false
		}
		have = have[len(s):]
	}
	return true
}
