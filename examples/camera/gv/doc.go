// SPDX-License-Identifier: MIT

// Package gv is the wire format of GigE-Vision-style cameras, which the camera and
// the receiver of this example share: it encodes and decodes, and does no I/O.
//
// Two protocols run over UDP, both big-endian. The control protocol (GVCP) is
// commands to port 3956 of the camera and their acknowledgements:
//
//	        0     1     2     4        6    8
//	        +-----+-----+-----+--------+----+------
//	command | 42h |flags|kind | length | id | body        Command
//	        +-----+-----+-----+--------+----+------
//	ack     | status    |kind | length | id | body        Ack
//	        +-----------+-----+--------+----+------
//
// The stream protocol (GVSP) carries an image as one block of packets: a leader that
// describes it (packet 0), its bytes cut into equal parts (packets 1 to n), and a
// trailer (packet n+1):
//
//	         0        2        4      5           8
//	         +--------+--------+------+-----------+------
//	standard | status | block  | kind | packet id | body    Packet
//	         +--------+--------+------+-----------+------------+---------+------
//	extended | status | flags  | 8xh  | reserved  | block id   | packet  | body
//	         +--------+--------+------+-----------+------------+---------+------
//	                                              8            16        20
//
// Standard block ids are 1 to 65535 and round again, with no 0; extended ones have
// 64 bits. The packet size that a receiver asks for (SCPS) counts the headers of IP
// and UDP too, see [PacketPayload].
//
// All of it is written from what the wire shows and from the public description of
// registers that cameras have; it claims to work with Aravis, and with nothing else.
package gv

import "errors"

// ErrMalformed is what every decoder returns, under errors.Is, for what is not in
// its format.
var ErrMalformed = errors.New("malformed")
