// SPDX-License-Identifier: MIT

package gv

import "math"

// headers are those of IPv4 and UDP.
const headers = 20 + 8

// TestPacketLen is the length of a test packet as a datagram, for a packet size.
func TestPacketLen(scps int) int { return scps - headers }

// PacketPayload is how many bytes of an image are in each of its packets but the
// last, for a packet size. It is not positive for sizes that leave no room.
//
// A receiver places packet i at (i-1) times this: if camera and receiver disagree
// on it, images are torn and nothing tells.
func PacketPayload(scps int, extended bool) int { return scps - headers - HeaderLen(extended) }

// Packets is how many packets the bytes of an image take, leader and trailer not
// counted. Payload is bytes a packet and must be positive.
func Packets(bytes, payload int) int { return (bytes + payload - 1) / payload }

// NextBlock is the id of the block after one: 0 is none.
func NextBlock(id uint64, extended bool) uint64 {
	if !extended && id >= math.MaxUint16 || id == math.MaxUint64 {
		return 1
	}
	return id + 1
}

// BlocksAhead is how many blocks b is after a, negative if it is before a: the
// shorter way round for standard ids, of which there are 65535.
func BlocksAhead(a, b uint64, extended bool) int64 {
	if extended {
		return int64(b - a)
	}
	const ids = math.MaxUint16 // there is no 0
	d := (int64(b) - int64(a)) % ids
	switch {
	case d > ids/2:
		d -= ids
	case d < -(ids / 2):
		d += ids
	}
	return d
}
