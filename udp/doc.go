// SPDX-License-Identifier: MIT

// Package udp gives a UDP program the AF_XDP data path with the manners of a UDP
// socket.
//
// A [Conn] is one UDP port on one interface. Two lanes lead to it, and both come
// out of the same receive call and take what goes into the same send call:
//
//	           +--------------------- Conn ---------------------+
//	           |  PacketConn (copies)     Queue (borrows)       |
//	           +---------+---------------------------+----------+
//	fast lane  |  AF_XDP sockets, one a queue        |  companion socket  | kernel lane
//	           |  xsk + umem + bpf                   |  an ordinary one   |
//	           +---------+---------------------------+----------+
//	                     |  the XDP program: is it plain UDP for this port?
//	  interface =========+==== yes: fast ======= no, or not sure: the kernel ====
//
// The companion is a kernel socket on the same address and port. It reserves the
// port, receives what the program leaves to the kernel (fragments, IP options,
// extension headers, queues without a socket, loopback, other interfaces), and
// sends what AF_XDP should not: to a neighbour that is not resolved yet, to this
// host, through another interface, over the MTU. So the first datagrams to a new
// destination are not lost, and none overtakes another of its flow.
//
// Three ways to use it, each built on the one below:
//
//   - [PacketConn] is a net.PacketConn that existing programs accept.
//   - [Queue] receives and sends batches of borrowed frames, without a copy; and
//     sends a header with slices of the program's own memory, or a whole train of
//     datagrams out of it, where the payload is only read.
//   - xsk and umem are the rings themselves.
//
// A datagram larger than a chunk comes in segments, all of it or nothing; see
// [Received] and Config.ChunkSize. Multi-buffer is chosen where the MTU needs it.
//
// A [Pacer] lets what a Queue sends leave evenly: qdiscs do not see it.
//
// A [Flow] is a resolved destination, followed live: route, gateway, neighbour,
// source address and MTU come from the kernel's tables, never from frames.
//
// Without Linux, AF_XDP or the rights for it, [Listen] says why; with
// [FallbackAllow] it opens on the kernel lane alone.
package udp
