// SPDX-License-Identifier: MIT

// Package assemble makes images of the packets of a GVSP-style stream. It is pure:
// no sockets, no clock, no goroutines.
//
//	packets, in any order ---> Packet ---> images in flight, a buffer each
//	                                       |  payload goes to (id-1) x payload size,
//	                                       |  straight from the segments it came in
//	     the clock -----------> Tick ----->+---> Requests: what to ask for again
//	                                       +---> Next: closed images, in their order
//	                            Release <----------- the consumer
//
// An image closes when all its packets are there, or when what is missing will not
// come: it has been asked for often enough, or nothing came for too long. It is
// delivered all the same, with what it lacks. The names of the counters, and the
// times after which something happens, are those of Aravis, so that the two can be
// compared.
//
// A slow consumer costs whole images: one that begins while no buffer is free is not
// begun at all, and counted as an underrun. An image that the consumer holds is never
// written to.
package assemble
