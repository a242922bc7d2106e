// SPDX-License-Identifier: MIT

// Package xdpath gives a UDP application the AF_XDP data path of Linux: its
// datagrams go between the driver and the program's own memory, past the kernel's
// network stack. The work is done in the packages beneath:
//
//	umem   the memory that kernel and program share, and who owns which part of it
//	xsk    the AF_XDP socket: four rings on one queue of one interface
//	bpf    the XDP program that hands over the datagrams of a port, and no others
//	udp    the endpoint made of these three, with the manners of a UDP socket
//
// The first three are independent of each other as far as can be: bpf takes the
// number of a queue and a descriptor, and xsk takes memory. See examples/hello for all three at
// work, examples/l2fwd for frames that travel without a copy, and the command bench
// for what it yields.
package xdpath
