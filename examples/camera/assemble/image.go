// SPDX-License-Identifier: MIT

package assemble

import (
	"fmt"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Status is how an image ended.
type Status uint8

const (
	Filling      Status = iota // in flight
	Complete                   // all is there
	Missing                    // packets never came
	TimedOut                   // and none came for the time of FrameRetention
	SizeMismatch               // its packets do not add up to what its leader says
	Conflicting                // a packet came twice with different contents: one of them is wrong
	Aborted                    // by Abort
)

func (s Status) String() string {
	names := [...]string{"filling", "complete", "missing packets", "timeout", "size mismatch", "conflicting packets", "aborted"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Range is packet ids from First to Last, both included.
type Range struct{ First, Last uint32 }

// Image is one image, closed: complete or not. It is the caller's until Release.
type Image struct {
	ID     uint64 // the block id
	Status Status
	// Leader says what the bytes are. It is zero if the leader never came.
	Leader gv.Leader
	// Data is the image's bytes. Those that never came are zero.
	Data []byte
	// Packets is how many it has, leader and trailer included.
	Packets int
	// Missing are the packets that never came.
	Missing []Range
	// First and Last are when its first packet came, and the last one that was new.
	First, Last time.Time

	state
}

// state is what an image in flight is known by.
type state struct {
	extended  bool
	refused   bool // it has no buffer: its packets are dropped
	hasLeader bool
	sized     bool // size is known, from the leader
	size      int
	buf       []byte // never shorter than it once was

	seen     []uint64 // a bit for each id that came
	got      int      // bits set
	highest  uint32   // id that came
	trailer  uint32   // its id; 0: has not come
	bytes    int      // of payload that came
	full     uint32   // highest id of a payload packet that is not empty
	payload  uint32   // highest id of a payload packet
	short    uint32   // lowest id of one that is neither full nor empty; 0: none
	shortLen int
	empty    uint32 // lowest id of an empty one; 0: none

	mismatch bool
	conflict bool

	waits    []wait // for each id, as far as one is missed
	asked    int    // packets asked for, each time counted
	noResend bool   // the camera has said no, or the ratio is reached
}

// wait is for a packet that is missed.
type wait struct {
	due   time.Time // when it is asked for next; zero: it has not been missed yet
	asked bool
}

// open makes a used image a new one. Its memory stays.
func (m *Image) open(id uint64, extended bool, now time.Time) {
	seen, waits, buf, missing := m.seen, m.waits, m.buf, m.Missing
	clear(seen)
	*m = Image{ID: id, First: now, Last: now, Missing: missing[:0]}
	m.extended, m.seen, m.waits, m.buf = extended, seen, waits[:0], buf
}

// has tells whether a packet has come.
func (m *Image) has(id uint32) bool {
	w := int(id / 64)
	return w < len(m.seen) && m.seen[w]&(1<<(id%64)) != 0
}

// wasAsked tells whether a packet has been asked for.
func (m *Image) wasAsked(id uint32) bool {
	return int(id) < len(m.waits) && m.waits[id].asked
}

// mark notes that a packet has come, which has not before.
func (m *Image) mark(id uint32, now time.Time) {
	w := int(id / 64)
	if w >= len(m.seen) {
		m.seen = append(m.seen, make([]uint64, w+1-len(m.seen))...)
	}
	m.seen[w] |= 1 << (id % 64)
	m.got++
	m.highest = max(m.highest, id)
	m.Last = now
}

// whole tells whether every packet has come.
func (m *Image) whole() bool {
	return m.hasLeader && m.trailer != 0 && m.highest == m.trailer && m.got == int(m.trailer)+1
}

// gaps lists the packets up to an id that have not come.
func (m *Image) gaps(dst []Range, last uint32) []Range {
	for id := uint32(0); id <= last; id++ {
		switch n := len(dst); {
		case m.has(id):
		case n > 0 && dst[n-1].Last+1 == id:
			dst[n-1].Last = id
		default:
			dst = append(dst, Range{id, id})
		}
	}
	return dst
}

// fits tells whether the payload packets that came make one row of bytes: full ones,
// then at most one that is shorter, then empty ones.
func (m *Image) fits() bool {
	return (m.short == 0 || m.full <= m.short) && (m.empty == 0 || m.full < m.empty)
}

// length is how many bytes of payload a packet had that has come.
func (m *Image) length(id uint32, payloadSize int) int {
	switch {
	case id == m.short:
		return m.shortLen
	case m.empty != 0 && id >= m.empty:
		return 0
	}
	return payloadSize
}
