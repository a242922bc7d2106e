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
	// left. It waits for room, and from packet to packet as long as t says.
	train(ctx context.Context, t train) (n int, err error)
	// single sends one packet: a header, and n bytes of the memory from off on. It
	// waits for room.
	single(ctx context.Context, header []byte, off, n int, cookie uint64) error
	// completed returns cookies whose bytes nobody reads any more: each as often as
	// train made it, with an error or not, and single was given it, without one.
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
	cookie   func() uint64                    // makes a cookie for packets that are about to be sent
}
