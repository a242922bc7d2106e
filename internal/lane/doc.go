// SPDX-License-Identifier: MIT

// Package lane is the kernel lane of a UDP endpoint: an ordinary UDP socket on
// the endpoint's address and port, read and written in batches.
//
//	          in                                       out
//	fragments, IP options, extension       neighbour not resolved yet, local
//	headers, uncovered queues, loopback,   destination, other interface, datagram
//	other interfaces, groups               over the MTU, everything as a fallback
//	           │                                        ▲
//	           ▼                                        │
//	recvmmsg + control messages ─> Receive    Send ─> sendmmsg + control messages
//	           │                   Release    SendSegments ─> UDP_SEGMENT
//	      own buffers
//
// Each datagram comes with both its addresses, the interface, TTL and TOS, and can
// leave with a chosen source address, interface, TTL and TOS. Bundles that the
// kernel made of datagrams (UDP_GRO) come apart into messages again.
//
//	l, err := lane.Open(lane.Config{Local: netip.MustParseAddrPort("10.9.0.2:5000")})
//	n, err := l.Receive(msgs)    // never waits: poll l.FD() for that
//	...                          // msgs[:n], valid until
//	l.Release(msgs[:n])
//	n, err = l.Send(out)         // out[:n] are the kernel's; err is about out[n]
//
// What a socket of net.UDPConn does, this one does too: datagrams over the MTU are
// fragmented, IPv6 without an address means both families, an unconnected socket
// never tells of ICMP errors and a connected one tells of them at the next call.
// Two things differ on purpose: IPv4 addresses are never in their IPv6-mapped
// form, and broadcasting must be asked for.
//
// The socket is never in Go's runtime poller, the package starts no goroutine, and
// the calls that move datagrams allocate nothing, save for a lookup each second of
// an IPv6 zone that is in use.
package lane
