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
	return s.ReceivePackets(frames, len(frames))
}

// ReceivePackets is Receive of at most packets packets, for who has room for few
// packets and not for few frames: the next packet of several frames is returned
// if frames has room for it. It may return fewer packets than there are.
func (s *Socket) ReceivePackets(frames []umem.Frame, packets int) (int, error) {
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	return s.receive(frames, packets)
}

// receive is ReceivePackets with the lock held.
func (s *Socket) receive(frames []umem.Frame, most int) (int, error) {
	if s.closed.Load() {
		return 0, s.errClosed("receive")
	}
	if s.rx == nil {
		return 0, s.errorf("receive", ErrDirection)
	}
	if s.rings.refill() {
		s.wakeFill()
	}
	// As many frames as packets are wanted: where each packet is one frame,
	// this is all. The next packet may be more than that.
	ask := max(min(most, len(frames)), 0)
	x, y := s.rx.Peek(uint32(ask))
	n, packets, bytes := s.decode(frames, x, y, most)
	if n == 0 && len(x)+len(y) == ask && ask > 0 {
		x, y = s.rx.Peek(uint32(len(frames)))
		n, packets, bytes = s.decode(frames, x, y, most)
	}
	if n == 0 {
		if len(x)+len(y) == len(frames) && ask > 0 {
			return 0, s.errorf("receive", fmt.Errorf("the next packet has more than the %d frames asked for; ask for %d", len(frames), s.longest()))
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

// longest is how many frames a packet can be. In copy mode the kernel splits what
// it was given by the size of a chunk, whatever that makes (__xsk_rcv,
// net/xdp/xsk.c).
func (s *Socket) longest() int {
	const longestPacket = 65535 + etherHeader + vlanTag
	return max(maxSegments, (longestPacket-1)/s.area.MaxFrame()+1)
}

// decode reads the descriptors of two spans, each once, up to the end of packet
// number most, and returns how many make whole packets.
func (s *Socket) decode(frames []umem.Frame, x, y []desc, most int) (whole int, packets, bytes uint64) {
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
				if packets == uint64(most) {
					return whole, packets, bytes
				}
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
