// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"

	"github.com/xdpath/xdpath/umem"
)

// contd is XDP_PKT_CONTD of include/uapi/linux/if_xdp.h: the packet goes on in
// the next descriptor.
const contd = 1

// Receive takes up to len(frames) received frames from the RX ring and returns
// how many, without waiting: 0 and no error when there are none. They are the
// caller's, to read and to write, until they are given back with Release or sent
// on with Send, which keeps the copy away.
//
// With multi-buffer a packet may be several frames, all but the last of which
// have [umem.Frame.More]. A packet is returned whole or not at all; one that
// cannot fit into frames is an error that says so.
//
// Holding frames back starves the fill ring: the kernel then drops and counts.
//
// Errors: net.ErrClosed after Close.
func (s *Socket) Receive(frames []umem.Frame) (int, error) {
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	return s.receive(frames)
}

// receive is Receive with the lock held.
func (s *Socket) receive(frames []umem.Frame) (int, error) {
	if s.closed.Load() {
		return 0, s.errClosed("receive")
	}
	if s.rx == nil {
		return 0, s.errorf("receive", ErrDirection)
	}
	if s.rings.refill() {
		s.wakeFill()
	}
	x, y := s.rx.Peek(uint32(len(frames)))
	n, packets, bytes := s.decode(frames, x, y)
	if n == 0 {
		if len(x)+len(y) == len(frames) && len(frames) > 0 {
			return 0, s.errorf("receive", fmt.Errorf("the next packet has more than the %d frames asked for; ask for %d", len(frames), maxSegments))
		}
		return 0, nil
	}
	good, err := s.area.Admit(s.rings.id, frames[:n])
	s.rx.Release(uint32(n))
	if err != nil {
		s.rxN.invalid += uint64(n - good)
	}
	s.rxN.frames += uint64(good)
	s.rxN.packets += packets
	s.rxN.bytes += bytes
	s.rxWait.Got(good)
	return good, nil
}

// decode reads the descriptors of two spans, each once, and returns how many
// make whole packets.
func (s *Socket) decode(frames []umem.Frame, x, y []desc) (whole int, packets, bytes uint64) {
	i, length := 0, uint64(0)
	for _, span := range [2][]desc{x, y} {
		for k := range span {
			d := span[k]
			more := d.Options&contd != 0
			frames[i] = s.area.Decode(d.Addr, d.Len, more)
			i++
			length += uint64(d.Len)
			if !more {
				whole, bytes, packets = i, length, packets+1
			}
		}
	}
	return whole, packets, bytes
}

// Release gives frames back, in any order and from any goroutine: received ones,
// also of other sockets on the same area, and reserved ones that will not be
// sent. Frames that are not the caller's (given back before, sent, another
// area's) are left alone and the first of them is the error, which satisfies
// errors.Is(err, umem.ErrFrame); the others are given back all the same.
//
// It also works after Close, so that what is still out can return.
func (s *Socket) Release(frames []umem.Frame) error {
	wakeup, err := s.rings.release(frames)
	if wakeup {
		s.lockAndWakeFill()
	}
	return err
}

// lockAndWakeFill is wakeFill for who holds no lock.
func (s *Socket) lockAndWakeFill() {
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	if !s.closed.Load() {
		s.wakeFill()
	}
}

// wakeFill tells the kernel to look at the fill ring. Whatever hinders it now
// will be tried again with the next frames, and a device that is gone shows in
// the wait. The receive lock is held.
func (s *Socket) wakeFill() {
	s.rxN.wakeups++
	_ = s.os.wakeRx()
}
