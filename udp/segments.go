// SPDX-License-Identifier: MIT

package udp

import "github.com/xdpath/xdpath/umem"

// A datagram larger than a chunk comes as a chain of frames, all of it in one
// packet of the RX ring or not at all (__xsk_rcv, net/xdp/xsk.c). Its headers are
// in the first frame.

// maxSegments is the most chunks that a packet may take: what a packet has in the
// kernel (MAX_SKB_FRAGS + 1).
const maxSegments = 18

// maxPacket is the longest frame that can come: an IP packet, Ethernet header, tag.
const maxPacket = 65535 + 14 + 4

// packetRoom is how many frames the longest packet can be. Where chunks are small
// that is more than maxSegments: in copy mode the kernel cuts what it was given
// into as many pieces as it takes.
func packetRoom(most int) int { return max(maxSegments, (maxPacket-1)/most+1) }

// packetEnd is where the packet ends that begins with frame i.
func packetEnd(frames []umem.Frame, i int) int {
	for i < len(frames)-1 && frames[i].More() {
		i++
	}
	return i + 1
}

// decodeChain is decode for a packet of several frames.
func (q *Queue) decodeChain(d *Received, frames []umem.Frame) (length int, ok bool) {
	area, x := q.sock.Area(), q.takeExtra()
	first, err := area.Bytes(frames[0])
	total := len(first)
	x.rest = x.rest[:0]
	for _, f := range frames[1:] {
		b, e := area.Bytes(f)
		err = keep(err, e)
		x.rest = append(x.rest, b[:len(b):len(b)])
		total += len(b)
	}
	if err == nil {
		length, ok = q.decode(d, frames[0], first, total, x.rest)
	}
	if !ok {
		q.extras = x.push(q.extras)
		return 0, false
	}
	x.frames = append(x.frames[:0], frames[1:]...)
	d.Payload = d.Payload[:len(d.Payload):len(d.Payload)]
	if rest := cut(x.rest, length-len(d.Payload)); len(rest) > 0 {
		d.Rest = rest
	}
	d.extra, d.use = x, x.uses.Load()
	return length, true
}

// cut returns the first n bytes of segments, which it shortens: what comes after a
// datagram's end is padding.
func cut(segments [][]byte, n int) [][]byte {
	for i, s := range segments {
		if n == 0 {
			return segments[:i]
		}
		k := min(n, len(s))
		segments[i] = s[:k:k]
		n -= k
	}
	return segments
}

// takeExtra returns space for the frames of a packet. The receive lock is held.
func (q *Queue) takeExtra() *extra {
	if q.extras == nil {
		q.extras = q.conn.scratch.all()
	}
	x := q.extras
	if x == nil {
		x = new(extra)
	} else {
		q.extras = x.next
	}
	if room := len(q.rx) - batch; cap(x.frames) < room {
		x.frames, x.rest = make([]umem.Frame, 0, room), make([][]byte, 0, room)
	}
	return x
}
