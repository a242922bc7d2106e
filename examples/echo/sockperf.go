// SPDX-License-Identifier: MIT

package main

import "encoding/binary"

// Sockperf's messages begin with 14 bytes, big-endian: a sequence number of 8, flags
// of 2, and the length of the whole message in 4.
const (
	sockperfFlags  = 8
	sockperfLength = 10
	sockperfHeader = 14

	fromClient = 1 // and not an answer
	wantsPong  = 2
	warmsUp    = 4 // filler before the measurement

	sockperfKnown = fromClient | wantsPong | warmsUp
)

// wantsAnswer tells whether a datagram is to be echoed, and makes it what the sender
// expects. That is any datagram as it is, but for sockperf's: there a server answers
// what asks for it, and marks the answer as one.
//
// A datagram that is none of sockperf's and looks like one is taken for one. It
// would have to hold its own length.
func wantsAnswer(payload []byte) bool {
	if len(payload) < sockperfHeader || uint64(binary.BigEndian.Uint32(payload[sockperfLength:])) != uint64(len(payload)) {
		return true
	}
	flags := binary.BigEndian.Uint16(payload[sockperfFlags:])
	if flags&^sockperfKnown != 0 || flags&fromClient == 0 {
		return true
	}
	binary.BigEndian.PutUint16(payload[sockperfFlags:], flags&^fromClient)
	return flags&wantsPong != 0 && flags&warmsUp == 0
}
