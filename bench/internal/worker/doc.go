// SPDX-License-Identifier: MIT

// Package worker is one end of the bench: a process that opens one side of a
// path, runs windows of traffic over it and says what it found, as its
// controller asks.
//
// A worker serves one controller and ends with it. All it can be asked for is
// what package control can say; each answer comes in bounded time.
package worker
