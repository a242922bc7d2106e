// SPDX-License-Identifier: MIT

// Package packet reads and writes the headers of a UDP datagram on Ethernet,
// and the Internet checksums inside them. It knows nothing of sockets, of
// interfaces or of Linux: bytes in, bytes out.
//
//	 SrcMAC DstMAC                Src, Dst, TTL, TOS     ports
//	+---------------+---------+--------------------+-----------+---------+
//	| Ethernet   14 | tag   4 | IPv4 20 or IPv6 40 | UDP     8 | payload |
//	+---------------+---------+--------------------+-----------+---------+
//	0                802.1Q,                                   Offset    Offset
//	                 optional                                            + Length
//
// Receiving: [Parse] decodes a frame into a [UDP] value or says in a [Reason]
// why it is none that a UDP socket would have been given by the Linux kernel;
// [UDP.Verify] checks the checksum. [UDP.Reply] turns the received frame into
// its answer where it lies.
//
// Sending: a [Template] holds the headers of one flow. [Template.Put] stamps
// them before a payload; only the lengths and the checksums change.
//
// What other headers a datagram can carry (IPv4 options, fragments, IPv6
// extension headers, a second tag) is left to the kernel: Parse names them and
// decodes no further.
//
// Nothing here allocates, panics on any input, or depends on the host's byte
// order. Functions keep no reference to the bytes they are given. Values may be
// shared between goroutines as long as nobody writes them.
package packet
