// SPDX-License-Identifier: MIT

package udp

import (
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// Lane is the way that a datagram took.
type Lane uint8

const (
	// Fast is AF_XDP.
	Fast Lane = iota
	// Kernel is the companion socket.
	Kernel
)

func (l Lane) String() string {
	if l == Fast {
		return "fast"
	}
	return "kernel"
}

// Received is a datagram that came in. It is the caller's until it is given back
// with [Queue.Release] or turned into a reply.
type Received struct {
	// Payload is its bytes, in the frame that they arrived in: valid, and
	// writable, until the datagram is given back. Empty for an empty datagram.
	// Of one larger than a chunk it is the bytes in the first chunk.
	Payload []byte
	// Rest is what follows Payload of a datagram larger than a chunk, in the
	// order of the bytes and with the same lifetime; nil of all others. Copy
	// joins them.
	Rest [][]byte
	// Src and Dst are where it came from and where it was sent to.
	Src, Dst netip.AddrPort
	TTL, TOS uint8
	// BadChecksum is set with RxMark only.
	BadChecksum bool
	// Truncated: more was sent than the kernel lane had room for.
	Truncated bool
	Lane      Lane
	held      bool   // not given back yet
	head      uint16 // bytes of headers before the payload
	// Time is when it was taken from the ring, for a whole batch at once, or on
	// the kernel lane when the kernel got it; with Config.Timestamps only. What
	// a device stamped is in the metadata.
	Time time.Time

	from  *Queue // fast lane
	frame umem.Frame
	use   uint32 // of extra
	extra *extra // a message of the kernel lane, or the frames after the first
}

// Len is the length of the payload in bytes, all of it.
func (d *Received) Len() int {
	n := len(d.Payload)
	for _, s := range d.Rest {
		n += len(s)
	}
	return n
}

// Copy copies the payload to dst, as much as there is room for, and returns how
// many bytes that is.
func (d *Received) Copy(dst []byte) int {
	n := copy(dst, d.Payload)
	for _, s := range d.Rest {
		n += copy(dst[n:], s)
	}
	return n
}

// Outgoing is a datagram to send, from [Queue.Reserve].
type Outgoing struct {
	// Payload is the room for its bytes, in the frame that they leave in.
	// Write them there and cut the slice to length. If it is set to other
	// memory, Send copies. After Send it is nil if the datagram is gone.
	Payload []byte
	// Rest is what follows Payload in a reply to a datagram larger than a chunk,
	// in the frames that it came in: it can be cut, too. If Payload is cut or
	// replaced, that is all, and Rest does not go.
	Rest [][]byte
	// Flow is where it goes to; or, if nil, Dst is, at the cost of a look-up.
	Flow *Flow
	Dst  netip.AddrPort
	// Src is the source address, if not the Conn's own or the route's.
	Src netip.Addr
	// TOS overrides Config.TOS if it is not 0: its low two bits are ECN.
	TOS uint8

	frame umem.Frame
	at    int    // where in the chunk the payload begins
	room  []byte // where it begins, to tell whether Payload is still there
	held  bool   // reserved, and neither sent nor given up
	reply bool   // the frame still has the headers that it was received with
	use   uint32 // of extra
	extra *extra // the frames after the first, of a reply

	launch time.Duration // when the device is to send it, by its clock; 0: at once
}

// segments is what follows the payload and goes with it.
func (o *Outgoing) segments() [][]byte {
	if o.extra == nil || !o.inPlace() || len(o.Payload) != len(o.room) {
		return nil
	}
	return o.Rest
}

// inPlace tells whether the payload is where the frame has its room.
func (o *Outgoing) inPlace() bool {
	if cap(o.Payload) == 0 || cap(o.room) == 0 {
		return cap(o.Payload) == cap(o.room)
	}
	return &o.Payload[:1][0] == &o.room[:1][0]
}
