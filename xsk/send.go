// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"

	"github.com/xdpath/xdpath/umem"
)

const (
	etherHeader = 14
	vlanTag     = 4
)

// Reserve gives the caller up to len(frames) free frames to write and returns
// how many, without waiting. Each is empty and begins after the area's headroom:
//
//	b, err := s.Area().Bytes(f)    // no bytes, but room to the chunk's end
//	f = f.WithLen(copy(b[:cap(b)], packet))
//
// Completed frames are reaped first when the pool has too few. A frame is the
// caller's until Send or Release.
//
// Errors: net.ErrClosed after Close, also of the pool or its area; ErrDirection on
// a receive-only socket.
func (s *Socket) Reserve(frames []umem.Frame) (int, error) {
	if s.txPool == nil {
		return 0, s.errorf("reserve", ErrDirection)
	}
	if s.closed.Load() {
		return 0, s.errClosed("reserve")
	}
	n := s.txPool.Get(frames)
	for n < len(frames) {
		if s.reapAndWake() == 0 {
			break
		}
		n += s.txPool.Get(frames[n:])
	}
	if n == 0 && len(frames) > 0 && s.txPool.Closed() {
		return 0, s.errClosed("reserve")
	}
	return n, nil
}

// Reap takes back the frames that the kernel has completed, puts them on their
// pools' lists and returns how many. Reserve and Flush reap by themselves; it is
// for who only forwards.
//
// Errors: net.ErrClosed after Close.
func (s *Socket) Reap() (int, error) {
	if s.closed.Load() {
		return 0, s.errClosed("reap")
	}
	return s.reapAndWake(), nil
}

// reap takes what is completed, and tells whether the kernel asks to be told of
// the chunks that went on into the fill ring, which needs the receive lock: not
// while the lock for sending is held.
func (s *Socket) reap() (n int, wakeup bool) {
	n = s.rings.reap(s.rings.doneSize)
	return n, n > 0 && s.rings.refill()
}

// reapAndWake is reap for who holds no lock.
func (s *Socket) reapAndWake() int {
	n, wakeup := s.reap()
	if wakeup {
		s.lockAndWakeFill()
	}
	return n
}

// Room returns how many frames the TX ring has room for, up to want.
func (s *Socket) Room(want int) int {
	s.txMu.Lock()
	defer s.txMu.Unlock()
	if s.closed.Load() || s.tx == nil {
		return 0
	}
	n := uint32(max(min(want, int(s.tx.Size())), 0))
	return int(min(n, s.tx.Free(n)))
}

// Send puts frames into the TX ring, reserved or received ones, and returns how
// many the ring took. Those belong to the kernel now, and return to their pools
// by themselves; the others stay the caller's. Fewer than len(frames) and no
// error means that the ring is full: Flush, then go on with the rest.
//
// Nothing is sure to leave before Flush; but poll(2), which the waits for received
// frames sleep in, sends too in copy mode (xsk_poll, net/xdp/xsk.c), and says
// nothing of what the device refuses then.
//
// Frames of a region ([umem.Slice]) are only read, and stay where they are: with
// Track and SendTracked the program learns when the kernel is done with them.
//
// A frame with [umem.Frame.More] set and the ones after it up to the first
// without are one packet, which goes whole or not at all. A bad frame ends the
// batch: those before it were taken, and the error says what is wrong with it,
// before the ring was touched for it.
//
// Errors: ErrLength for a packet shorter than 14 bytes, longer than the MTU
// allows, or of too many frames; ErrMetadata for one whose metadata the kernel
// would not follow, or that begins where the area keeps room for them; umem.ErrFrame
// for one that is not the caller's; ErrDirection; net.ErrClosed after Close.
func (s *Socket) Send(frames []umem.Frame) (n int, err error) { return s.send(frames, nil) }

func (s *Socket) send(frames []umem.Frame, tickets []Ticket) (n int, err error) {
	s.txMu.Lock()
	defer s.txMu.Unlock()
	switch {
	case s.closed.Load():
		return 0, s.errClosed("send")
	case s.tx == nil:
		return 0, s.errorf("send", ErrDirection)
	case len(tickets) > 0 && !s.rings.openTickets(tickets):
		return 0, s.errorf("send", ErrTicket)
	}
	want := uint32(len(frames))
	room := min(want, s.tx.Free(want))
	x, y, _ := s.tx.Reserve(room)
	for n < int(room) {
		var k int
		if k, err = s.place(frames[n:], x, y, n); k == 0 {
			break
		}
		n += k
	}
	s.tx.Cancel(room - uint32(n))
	if n > 0 {
		if len(tickets) > 0 {
			s.rings.follow(frames[:n], tickets)
		}
		s.tx.Submit(uint32(n))
		s.txN.frames += uint64(n)
	}
	if err != nil {
		err = s.errorf(fmt.Sprintf("send frame %d of %d,", n, len(frames)), err)
	}
	return n, err
}

// place puts the packet that frames begin with into the descriptors from at on,
// and returns how many it took; 0 and no error when it does not fit.
func (s *Socket) place(frames []umem.Frame, x, y []desc, at int) (k int, err error) {
	k, length, err := s.packet(frames)
	if err != nil || at+k > len(x)+len(y) {
		return 0, err
	}
	for i, f := range frames[:k] {
		addr, err := s.area.Transmit(s.rings.id, f)
		if err != nil {
			for _, g := range frames[:i] {
				s.area.Untransmit(g)
			}
			return 0, err
		}
		// Always the whole descriptor: an old continuation bit would glue
		// two packets together.
		d := desc{Addr: addr, Len: uint32(f.Len())}
		if f.More() {
			d.Options = contd
		}
		if f.Metadata() {
			d.Options |= txMetadata
		}
		if at+i < len(x) {
			x[at+i] = d
		} else {
			y[at+i-len(x)] = d
		}
	}
	s.txN.packets++
	s.txN.bytes += uint64(length)
	return k, nil
}

// packet measures the packet that frames begin with and tells whether the
// interface can take it. The kernel would consume a bad one and lose it, with
// EBUSY or as an invalid descriptor.
func (s *Socket) packet(frames []umem.Frame) (k, length int, err error) {
	for k < len(frames) && frames[k].More() && frames[k].Len() > 0 {
		length += frames[k].Len()
		k++
	}
	if k == len(frames) {
		return 0, 0, fmt.Errorf("packet of %d frames and more: its last frame is not in the batch: %w", k, ErrLength)
	}
	if frames[k].Len() == 0 {
		return 0, 0, fmt.Errorf("frame without data: %w", ErrLength) // an invalid descriptor to the kernel
	}
	length += frames[k].Len()
	k++
	if s.metadata > 0 || frames[0].Metadata() {
		if err := s.checkMetadata(frames[:k]); err != nil {
			return 0, 0, err
		}
	}
	switch most := s.MTU() + etherHeader; {
	case k > 1 && !s.info.MultiBuffer:
		return 0, 0, fmt.Errorf("packet of %d frames: the socket is not multi-buffer: %w", k, ErrLength)
	case k > s.info.MaxSegments:
		return 0, 0, fmt.Errorf("packet of %d frames: at most %d: %w", k, s.info.MaxSegments, ErrLength)
	case length < etherHeader:
		return 0, 0, fmt.Errorf("packet of %d bytes: an Ethernet header has %d: %w", length, etherHeader, ErrLength)
	case length > most+vlanTag || length > most && !s.tagged(frames[0]):
		return 0, 0, fmt.Errorf("packet of %d bytes: at most %d with an MTU of %d: %w", length, most, most-etherHeader, ErrLength)
	}
	return k, length, nil
}

// tagged tells whether the frame has an 802.1Q tag, for which the kernel allows
// four bytes more (__dev_forward_skb's is_skb_forwardable, net/core/dev.c).
func (s *Socket) tagged(f umem.Frame) bool {
	b, err := s.area.Bytes(f)
	return err == nil && len(b) >= etherHeader+vlanTag && b[12] == 0x81 && b[13] == 0
}
