// SPDX-License-Identifier: MIT

// Package ring holds the two single-producer single-consumer types that serve
// all four AF_XDP rings.
//
//	     producer index                     consumer index
//	     (written by the producer)          (written by the consumer)
//	           |                                  |
//	+---+---+---+---+---+---+---+---+             |
//	|   | c | d | e |   |   |   |   |  entries    |
//	+---+---+---+---+---+---+---+---+             |
//	      ^-----------------------------<---------+
//
// Indexes run free over 32 bits: they are masked when an entry is accessed and
// subtracted mod 2^32 to get a count, so a full ring and an empty one differ.
//
//	ring         producer   consumer   entry
//	fill         program    kernel     uint64 (chunk address)
//	completion   kernel     program    uint64 (chunk address)
//	RX           kernel     program    16-byte descriptor
//	TX           program    kernel     16-byte descriptor
//
// A [Producer] or [Consumer] is the program's side of one ring. It keeps a
// private copy of the peer's index and reads the shared word again only when
// that copy does not suffice: once a batch at the most. Entries are handed out
// as two spans of the ring itself (two, because a batch may wrap), so a batch
// costs no masking and each entry is read or written once.
//
// Memory order: the peer's index is loaded with acquire and ours is stored with
// release semantics. sync/atomic is sequentially consistent, which includes
// both on every port of Go, and also orders a store of the producer index
// before a later load of the flags word: the order that [Producer.NeedWakeup]
// depends on.
//
// The same code runs over mapped and over heap memory; [Heap] makes the latter,
// where the race detector sees it.
//
// Neither type may be used by two goroutines at once.
package ring
