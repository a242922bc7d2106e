// SPDX-License-Identifier: MIT

// L2fwd forwards UDP datagrams between two interfaces, or echoes them on one, with
// the MAC addresses swapped. It shows how frames travel without being copied.
//
//	go run ./examples/l2fwd -a eth0 -b eth1 -port 5000
//
// Both sockets share one area of memory, so a frame that was received through one
// of them can be sent through the other where it lies. From eth0 to eth1:
//
//	+---------- one umem.Area ----------+
//	|  pool of eth0   |  pool of eth1   |
//	+-----------------------------------+
//	   |           ^
//	   | 1         | 4
//	   v           +-------------------------------+
//	fill ring                              completion ring
//	   |                                           ^
//	  eth0                                        eth1
//	   |                                           ^
//	   v            this program                   |
//	RX ring --- 2 ---> swaps the addresses --- 3 ---> TX ring
//
// What happens at the numbers:
//
//  1. The fill ring of eth0 gives the kernel chunks of eth0's pool to write.
//  2. They come out of the RX ring as frames, and are this program's.
//  3. It writes twelve bytes and puts the same frames into the TX ring of eth1.
//  4. When they are on the wire they come out of eth1's completion ring and go back
//     to the pool they are from: eth0's.
//
// At every moment each chunk has one owner, and all chunks have one: [umem.Snapshot]
// counts them, and this example's test proves it.
package main
