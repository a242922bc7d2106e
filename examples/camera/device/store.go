// SPDX-License-Identifier: MIT

package device

import (
	"sync"
	"sync/atomic"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// image is one image as it is sent: what is needed to make any of its packets.
type image struct {
	block    uint64 // 0: none
	extended bool
	off, len int // its bytes in the memory
	payload  int // of them in each packet
	packets  uint32
	leader   gv.Leader
}

// slot is a place for an image, and who reads it.
type slot struct {
	image
	readers int // packets on their way, and the drawing of a new image
	// sent is the last packet that has left, or is about to: what comes after it
	// need not be sent again.
	sent *atomic.Uint32
	left int // how many packets may still be sent again
}

// store is the places for images. An image stays, for those who ask for its packets
// again, until its place is needed for a new one; and nothing is drawn into a place
// while a packet from it is on its way.
type store struct {
	size int // bytes of a place

	mu     sync.Mutex // guards what follows
	slots  []slot
	next   int    // the oldest place
	newest uint64 // the block that was begun last
}

func newStore(places, size int) *store {
	s := &store{size: size, slots: make([]slot, places)}
	for i := range s.slots {
		s.slots[i].sent = new(atomic.Uint32)
	}
	return s
}

// take gives the oldest place for a new image: the one in it can no longer be asked
// for. False if a packet from it is still on its way.
func (s *store) take() (i int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i = s.next
	if s.slots[i].readers > 0 {
		return 0, false
	}
	s.next = (i + 1) % len(s.slots)
	s.slots[i].image = image{off: i * s.size}
	s.slots[i].readers = 1 // until begin
	return i, true
}

// begin tells that the image in place i is drawn and will be sent.
func (s *store) begin(i int, img image) image {
	s.mu.Lock()
	defer s.mu.Unlock()
	img.off = i * s.size
	p := &s.slots[i]
	p.image, p.left = img, int(img.packets)+2
	p.sent.Store(0)
	p.readers--
	s.newest = img.block
	return img
}

// read counts a packet, or several that have one cookie, which is about to be sent
// from place i. The cookie is never 0.
func (s *store) read(i int) (cookie uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[i].readers++
	return uint64(i) + 1
}

// done counts cookies that have come back.
func (s *store) done(cookies ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range cookies {
		s.slots[c-1].readers--
	}
}

// forget ends the stream's images: the ids of the next begin anew.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.slots {
		s.slots[i].block = 0
	}
	s.newest = 0
}

// borrow finds the image of a block, whose packets are wanted again. Its place is kept
// until the cookie, which is that of read, is done. If there is no such image, the
// status says why.
func (s *store) borrow(block uint64, extended bool) (i int, status gv.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if block == 0 {
		return 0, gv.Unavailable
	}
	for i := range s.slots {
		if s.slots[i].block == block {
			s.slots[i].readers++
			return i, gv.OK
		}
	}
	switch {
	case s.newest == 0:
		return 0, gv.Unavailable
	case gv.BlocksAhead(s.newest, block, extended) > 0:
		return 0, gv.NotYetAvailable
	}
	return 0, gv.PreviousGone
}

// look is the image in a place that is borrowed or being sent, and the last of its
// packets that was sent.
func (s *store) look(i int) (image, *atomic.Uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[i].image, s.slots[i].sent
}

// allow says how many of n packets of the image in place i may be sent again: each
// image has as many such packets as it has packets.
func (s *store) allow(i, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, s.slots[i].left)
	s.slots[i].left -= n
	return n
}
