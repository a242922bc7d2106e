// SPDX-License-Identifier: MIT

// Package stream is the traffic of the bench: what a datagram holds, how a
// sender makes it, how a receiver checks it, and the two loops that drive a
// path.
//
// Every path carries the same datagrams and does the same work on them. The
// sender writes each payload in full, and the receiver reads each payload in
// full and checks it; only the way between differs. What a path has to offer
// is one small interface for each side:
//
//	Sender    Reserve buffers ── write payloads ──> Send
//	Receiver  Receive views   ── read payloads  ──> the next Receive
//
// Buffers and views belong to the path and are lent for one batch.
//
// A payload begins with a header in network byte order, followed by fixed
// pseudo-random bytes that are alike in all payloads of one size:
//
//	0        8      12     16
//	+--------+------+------+-------------------
//	| seq    | run  | size | body ...
//	+--------+------+------+-------------------
//
// The sequence number tells lost, duplicated and reordered datagrams apart.
// The run number keeps what a former window left behind from being counted.
// The sum over the body shows corruption.
package stream
