// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"net/netip"
	"time"
)

// transport carries the packets of the stream to the receiver. It has the memory that
// images are drawn into, since that must lie where packets can be sent from.
//
// Any number of goroutines may send, and aim.
type transport interface {
	// memory is where the images are.
	memory() []byte
	// aim sets the receiver.
	aim(dst netip.AddrPort)
	// mtu is the largest packet that gets there in one piece, IP header included.
	mtu() int
	// port is the UDP port that the packets come from.
	port() uint16
	// train sends a part of an image, packet by packet, and returns how many have
	// left. It waits for room, and from packet to packet as long as t says. Its cookie
	// comes back, with an error or not.
	train(ctx context.Context, t train) (n int, err error)
	// single sends one packet, and waits as train does. Its cookie comes back, with an
	// error or not: a packet may be on its way although it is known to be lost.
	single(ctx context.Context, p single) error
	// rest says that an image is over: what was waited for from packet to packet is
	// not from this one to the next.
	rest()
	// completed returns cookies whose bytes nobody reads any more, each as often as it
	// was given.
	completed(cookies []uint64) int
	// wait returns when ctx ends, or with an error when there is no use in going on.
	wait(ctx context.Context) error
	// gaps are the times from packet to packet, in words; empty if none was asked for.
	gaps() string
	// String says what it is.
	String() string
	close() error
}

// train is a part of an image.
type train struct {
	off, len int // bytes of the memory
	size     int // of them in each packet, but the last
	first    uint32
	header   func(id uint32, room []byte) int // writes the header of a packet
	gap      time.Duration                    // from packet to packet; 0: none
	cookie   uint64
}

// single is one packet: a header, and n bytes of the memory from off on.
type single struct {
	header []byte
	off, n int
	gap    time.Duration // since the packet before; 0: none
	cookie uint64        // 0: none
}
