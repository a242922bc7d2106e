// SPDX-License-Identifier: MIT

// Package wait is how a call waits for frames: asleep in the kernel until a
// descriptor is ready, a deadline passes, a context ends or the owner closes; and
// the policy that says when to spin, when to nap by the clock and when to sleep.
//
// Descriptors are given to poll(2) for the length of one wait only. Go's runtime
// poller would keep them registered with epoll, and the kernel would then wake
// the poller's thread for every batch that arrives, whether anybody waits or
// not: paid by the CPU that delivers the packets.
package wait
