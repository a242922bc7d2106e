// SPDX-License-Identifier: MIT

// Package rr is the test of round trips: one datagram to and fro at a time, and
// how long that takes.
//
// The client sends a request, waits for the answer, notes the time between, and
// begins again. The server sends back what it gets. One interface serves both:
//
//	client  Request ── write payload ──> Send ─────> Receive ── check, note time
//	server                               Receive ── check ──> Reply
//
// The time of a round trip runs from just before Send to just after Receive: all
// that a path does to a datagram is in it, and making and checking the payload is
// not. Payloads are those of package stream, written and read in full by both
// ends on every path.
//
// An answer that has not come within Timeout is lost. That shows in the counts,
// and not in the times.
package rr
