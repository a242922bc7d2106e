// SPDX-License-Identifier: MIT

// Package camera is the traffic of a camera: images at a rate, each a train of
// datagrams of one size, and a receiver that puts them together again.
//
// A datagram has the header that cameras of the GigE Vision standard use with
// extended ids, in network byte order, and then its part of the image. There are no
// leaders and trailers, and the last datagram of an image is filled up:
//
//	0        2       4        5     8                   16         20
//	+--------+-------+--------+-----+-------------------+----------+---------
//	| status | flags | format | 0   | block id          | packet   | pixels ...
//	+--------+-------+--------+-----+-------------------+----------+---------
//
// The block id is the run in its upper half and the number of the image in its lower
// one.
//
// Every path does the same work: the sender draws each image in full into memory
// that the path lends, and the receiver copies each datagram to its place in an
// image, and reads the image in full once it is complete. How the bytes get from one
// memory to the other is the path's affair.
package camera
