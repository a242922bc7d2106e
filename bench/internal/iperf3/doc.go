// SPDX-License-Identifier: MIT

// Package iperf3 speaks the protocol of iperf 3 for UDP, either side, so that a tool
// which nobody here wrote measures what AF_XDP carries.
//
//	client                            server
//	TCP:  cookie, 37 bytes ───────────>
//	      <──────────────────── state ParamExchange
//	      parameters (JSON) ──────────>
//	      <──────────────────── state CreateStreams
//	UDP:  4 bytes, a stream ──────────>   one after the other
//	      <───────────────────── 4 bytes
//	TCP:  <──────── states TestStart, TestRunning
//	UDP:  datagrams, one way or (reverse) the other
//	TCP:  state TestEnd ──────────────>
//	      <────────────────── state ExchangeResults
//	      results (JSON) ─────────────>
//	      <───────────────────── results (JSON)
//	      <─────────────────── state DisplayResults
//	      state Done ─────────────────>
//
// A state is one byte, JSON has its length before it. Each datagram begins with when
// it was sent and its number ([Header]).
//
// Everything that comes in is bounded in size and time, and checked before it is used;
// nothing that is sent here is ever run, opened or looked up. Datagrams are carried by
// a [Port]: the rest neither knows nor cares whether that is AF_XDP.
package iperf3
