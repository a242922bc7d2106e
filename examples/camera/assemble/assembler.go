// SPDX-License-Identifier: MIT

package assemble

import (
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// lateWindow is how far back an id may be to be a late one. Before that, it is
	// a camera that has begun anew, if it is a leader.
	lateWindow = 100
	// jump is how far ahead an id may be without being a leader.
	jump = 1000
	// remembered is how many images without a buffer are remembered, to tell their
	// packets from late ones.
	remembered = 32
)

// Assembler makes images of packets. It is for one goroutine at a time.
type Assembler struct {
	cfg      Config
	counters Counters

	flight []*Image // by block id; those without a buffer are among them
	free   []*Image // with a buffer
	bare   []*Image // without one, for images that are refused
	ready  []*Image // closed, for Next
	taken  int      // of ready, already returned

	requests []gv.Resend

	closed   uint64 // block id of the last image that was closed
	started  bool   // there is one
	packets  uint32 // id of the trailer of the last image of which it is known; 0: none yet
	bytes    int    // of that image
	refused  [remembered]uint64
	nextLook time.Time // when something can be due at the earliest
}

// New makes an Assembler. Memory for images is allocated as they come.
func New(cfg Config) (*Assembler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	a := &Assembler{cfg: cfg}
	for range cfg.Buffers {
		a.free = append(a.free, &Image{})
	}
	return a, nil
}

// Counters are the counters so far.
func (a *Assembler) Counters() Counters { return a.counters }

// Packet takes one packet, which came at a time, in the segments that it arrived in.
// The header must be in the first. Nothing of them is kept.
func (a *Assembler) Packet(first []byte, rest [][]byte, now time.Time) {
	size := len(first)
	for _, s := range rest {
		size += len(s)
	}
	a.counters.ReceivedPackets++
	p, err := gv.ParsePacket(first)
	if err != nil {
		a.counters.MalformedPackets++
		a.ignore(size)
		return
	}
	if p.Status.IsError() {
		a.errorPacket(p, size)
		return
	}
	m := a.find(p, now)
	switch {
	case m == nil:
		a.ignore(size)
	case m.refused:
		a.counters.RefusedPackets++
		a.ignore(size)
	default:
		a.take(m, p, rest, size, now)
	}
	if m != nil && (m.whole() || m.refused) {
		a.deliver(now)
	}
}

func (a *Assembler) ignore(size int) {
	a.counters.IgnoredPackets++
	a.counters.IgnoredBytes += uint64(size)
}

// errorPacket is how a camera says that it cannot send what it was asked for. Of
// what it no longer has, nothing more is asked.
func (a *Assembler) errorPacket(p gv.Packet, size int) {
	a.counters.ErrorPackets++
	a.counters.TransferredBytes += uint64(size)
	m := a.inFlight(p.Block)
	if m == nil || m.refused || m.noResend {
		return
	}
	switch p.Status {
	case gv.Unavailable, gv.PreviousGone, gv.Gone:
		m.noResend = true
		a.counters.ResendDisabled++
	}
}

// inFlight finds an image by its id. The newest is the likeliest.
func (a *Assembler) inFlight(id uint64) *Image {
	for i := len(a.flight) - 1; i >= 0; i-- {
		if a.flight[i].ID == id {
			return a.flight[i]
		}
	}
	return nil
}

// find returns the image that a packet belongs to, and begins it if need be. Nil: the
// packet is to be ignored.
func (a *Assembler) find(p gv.Packet, now time.Time) *Image {
	if m := a.inFlight(p.Block); m != nil {
		return m
	}
	if a.wasRefused(p.Block) {
		a.counters.RefusedPackets++
		return nil
	}
	switch p.Kind {
	case gv.PartLeader, gv.PartPayload, gv.PartTrailer:
	default:
		return nil // other forms of payload than images
	}
	leader := p.Kind == gv.PartLeader && p.ID == 0
	if last, ok := a.last(); ok {
		ahead := gv.BlocksAhead(last, p.Block, p.Extended)
		switch {
		case ahead <= -lateWindow && leader:
			a.restart()
		case (ahead <= -lateWindow || ahead > jump) && !leader:
			return nil
		}
	}
	if a.started && gv.BlocksAhead(a.closed, p.Block, p.Extended) <= 0 {
		a.counters.LatePackets++
		return nil
	}
	if len(a.flight) >= 2*a.cfg.Buffers+remembered {
		return nil // ids without end: somebody plays with us
	}
	return a.begin(p, now)
}

// last is the newest id so far.
func (a *Assembler) last() (id uint64, ok bool) {
	if n := len(a.flight); n > 0 {
		return a.flight[n-1].ID, true
	}
	return a.closed, a.started
}

// restart forgets the order of ids: the camera has begun anew.
func (a *Assembler) restart() {
	for len(a.flight) > 0 {
		a.close(a.end(a.flight[0], Missing))
	}
	a.started = false
	clear(a.refused[:])
}

func (a *Assembler) wasRefused(id uint64) bool {
	return a.refused[id%remembered] == id // 0 is no id
}

// begin has a new image in flight, in its place by the order of ids.
func (a *Assembler) begin(p gv.Packet, now time.Time) *Image {
	var m *Image
	if n := len(a.free); n > 0 {
		m, a.free = a.free[n-1], a.free[:n-1]
		m.open(p.Block, p.Extended, now)
	} else {
		a.counters.Underruns++
		a.refused[p.Block%remembered] = p.Block
		m = a.bareImage()
		m.ID, m.extended, m.refused = p.Block, p.Extended, true
	}
	i := len(a.flight)
	for i > 0 && gv.BlocksAhead(a.flight[i-1].ID, p.Block, p.Extended) < 0 {
		i--
	}
	a.flight = append(a.flight, nil)
	copy(a.flight[i+1:], a.flight[i:])
	a.flight[i] = m
	a.nextLook = now
	return m
}

// bareImage is an image without a buffer.
func (a *Assembler) bareImage() *Image {
	n := len(a.bare)
	if n == 0 {
		return &Image{}
	}
	m := a.bare[n-1]
	a.bare = a.bare[:n-1]
	*m = Image{}
	return m
}

// expected is the highest id of the packets that an image has, the trailer's, as far
// as it is known: from the trailer, from the size in the leader, or from the image
// before.
func (a *Assembler) expected(m *Image) uint32 {
	switch {
	case m.trailer != 0:
		return max(m.trailer, m.highest)
	case m.sized:
		n := uint32(gv.Packets(m.size, a.payload(m)))
		return max(max(n, m.payload)+1, m.highest)
	}
	return max(a.packets, m.highest, m.payload+1)
}

// payload is the bytes of an image in each of its packets but the last.
func (a *Assembler) payload(m *Image) int { return gv.PacketPayload(a.cfg.PacketSize, m.extended) }

// largest is the highest packet id that an image can have: of the largest one, with
// a leader, an empty packet and a trailer.
func (a *Assembler) largest(m *Image) uint32 {
	return uint32(gv.Packets(a.cfg.MaxImage, a.payload(m)) + 2)
}

// Buffers is how many buffers there are.
func (a *Assembler) Buffers() int { return a.cfg.Buffers }

// InFlight is how many images have begun and are not closed yet.
func (a *Assembler) InFlight() int { return len(a.flight) }
