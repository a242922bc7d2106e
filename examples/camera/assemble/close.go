// SPDX-License-Identifier: MIT

package assemble

import (
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Next returns the next image that is closed, complete or not, in the order of their
// ids. It is the caller's until Release.
func (a *Assembler) Next() (*Image, bool) {
	if a.taken == len(a.ready) {
		a.ready, a.taken = a.ready[:0], 0
		return nil, false
	}
	m := a.ready[a.taken]
	a.ready[a.taken] = nil
	a.taken++
	return m, true
}

// Release gives an image back. Its Data must not be used any more.
func (a *Assembler) Release(m *Image) {
	if m.Status == Filling {
		return // not one that Next returned, or given back already
	}
	m.Status, m.Data = Filling, nil
	a.free = append(a.free, m)
}

// Abort closes all that is in flight: the stream is over.
func (a *Assembler) Abort() {
	for len(a.flight) > 0 {
		a.close(a.end(a.flight[0], Aborted))
	}
}

// deliver closes images as long as the oldest has come to its end.
func (a *Assembler) deliver(now time.Time) {
	for len(a.flight) > 0 {
		m := a.flight[0]
		silence := now.Sub(m.Last)
		switch {
		case m.refused, m.whole():
			a.close(a.end(m, Missing))
		case len(a.flight) > 1 && !a.resends(m) && silence >= a.cfg.PacketTimeout:
			a.close(a.end(m, Missing))
		case silence >= a.cfg.FrameRetention:
			a.close(a.end(m, TimedOut))
		default:
			return
		}
	}
}

// resends tells whether what an image lacks may still be asked for.
func (a *Assembler) resends(m *Image) bool {
	return a.cfg.Resend && !m.noResend && !m.mismatch
}

// end gives an image its status: what became of it, or, if packets are missing, the
// one given.
func (a *Assembler) end(m *Image, missing Status) *Image {
	whole := m.whole()
	switch {
	case m.refused:
	case m.mismatch, whole && (!m.fits() || m.sized && m.bytes != m.size):
		m.Status = SizeMismatch
	case !whole:
		m.Status = missing
	case m.conflict:
		m.Status = Conflicting
	default:
		m.Status = Complete
	}
	return m
}

// close takes the oldest image out of flight, as what its status says.
func (a *Assembler) close(m *Image) {
	copy(a.flight, a.flight[1:])
	a.flight[len(a.flight)-1] = nil
	a.flight = a.flight[:len(a.flight)-1]
	a.account(m)
	a.closed, a.started = m.ID, true
	if m.refused {
		a.bare = append(a.bare, m)
		return
	}
	last := a.expected(m)
	m.Packets = int(last) + 1
	m.Missing = m.gaps(m.Missing[:0], last)
	a.fill(m)
	if !m.mismatch && (m.sized || m.trailer != 0) {
		a.packets, a.bytes = last, len(m.Data)
	}
	if m.Status != Aborted {
		for _, r := range m.Missing {
			a.counters.MissingPackets += uint64(r.Last-r.First) + 1
		}
	}
	a.ready = append(a.ready, m)
}

// account counts an image that ends, and those before it of which nothing came.
func (a *Assembler) account(m *Image) {
	if a.started {
		if d := gv.BlocksAhead(a.closed, m.ID, m.extended); d > 1 {
			a.counters.MissingFrames += uint64(d) - 1
		}
	}
	if m.refused {
		return
	}
	switch m.Status {
	case Complete:
		a.counters.CompletedBuffers++
		return
	case Aborted:
		a.counters.Aborted++
		return
	case TimedOut:
		a.counters.Timeouts++
	case SizeMismatch:
		if !m.mismatch { // else its packets have been counted
			a.counters.SizeMismatchErrors++
		}
	}
	a.counters.Failures++
}

// fill makes Data what the image is: as long as the leader says, or as what came; and
// zero where nothing came, instead of what the buffer held before.
func (a *Assembler) fill(m *Image) {
	full := a.payload(m)
	n := m.size
	if !m.sized {
		n = max(int(m.full)-1, 0) * full
		if m.full > 0 {
			n += m.length(m.full, full)
		}
		n = min(n, a.cfg.MaxImage) // of several short packets only the first one's length is known
	}
	m.grow(n, a.cfg.MaxImage)
	m.Data = m.buf[:n:n]
	for _, r := range m.Missing {
		from, to := (int(r.First)-1)*full, int(r.Last)*full
		clear(m.Data[min(max(from, 0), n):min(to, n)])
	}
}
