// SPDX-License-Identifier: MIT

// Package umem holds the memory that the kernel and the program share for
// AF_XDP: the UMEM, cut into chunks, each with exactly one owner.
//
//	Area  |<------------------------ one registered memory region ------------------->|
//	      | chunk 0 | chunk 1 | ...            | chunk n | ...        |  Region bytes  |
//	      |<------------- Pool -------------->|<------- Pool ------->|  (the caller's)|
//
//	                  Get / Reserve                      Send
//	        +--------> reserved -----------------------------+
//	        |             | Put                              v
//	      free <----------+---------------------------- transmitting
//	        |             ^        completion                ^
//	        v             | Put                              | Send
//	       fill ------> received ----------------------------+
//	           RX ring
//
// An [Area] is one region of memory: anonymous pages, huge pages, or the
// caller's own (a memfd shared with another process, say). A [Pool] owns a range
// of its chunks and hands them out; a [Region] is a range that the program fills
// and the library only reads.
//
// A chunk in use is a [Frame], a small value. Giving a frame back twice, using
// it after giving it back, or giving back another area's frame is always
// detected, in every build, and is an error that names the frame: each chunk has
// a word with its owner and a generation, and every step compares and swaps it.
//
// The sum free + fill + received + reserved + transmitting is the number of pool
// chunks at any moment; [Area.Snapshot] gives it.
//
// What a program keeps in a region it sends as slices: any bytes, which the kernel
// reads where they lie. They have no owner to hand over; see xsk.Socket.Track for
// when they are free again.
//
// Only the aligned mode of the UMEM is offered: chunks are a power of two from
// 2048 bytes to the page size (xdp_umem_reg, net/xdp/xdp_umem.c).
package umem
