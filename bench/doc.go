// SPDX-License-Identifier: MIT

// Bench measures what ways of carrying UDP datagrams cost and yield, side by
// side: plain sockets at their best, AF_XDP by another Go library, and AF_XDP
// by this one.
//
//	go run ./bench            as root
//	go run -exec sudo ./bench as a user with sudo
//	go run ./bench rr         round trips instead of a stream
//	go run ./bench mtu        small messages on links of two MTUs
//	go run ./bench camera     images at a rate
//	go run ./bench batch      and rings, coalesce, rate: one setting after the other
//	go run ./bench serve -h   the other end of a run with -peer on another machine
//	go run ./bench iperf3-server -i eth0   answers an unmodified iperf3 -u
//	go run ./bench check eth0 a doctor: what the machine and an interface are fit for
//
// It makes two network namespaces joined by a veth pair, starts a worker
// process in each, tied to one processor each, and has them run the same test
// over every path in turn: a stream of datagrams one way, or one datagram to and
// fro at a time. It needs no hardware and nothing installed but Go, and leaves
// nothing behind, however it ends. With -peer it runs the same between an interface
// of this machine and one of a machine where bench serve runs. The manual is
// docs/bench.md.
//
// The table goes to standard output, progress to standard error if that is a
// terminal. There are other formats: netperf's lines, Go benchmark lines for
// benchstat, CSV, JSON, and one HTML page with figures that loads nothing. The exit
// status is 0, or 1 if the bench broke, or 2 if it was asked for what it cannot do.
//
//	go run ./bench -json new.json -html new.html
//	go run ./bench report new.json -format bench       draws results again
//	go run ./bench compare old.json new.json           what changed beyond the noise
//
// These two need no rights, and run on other systems, too. Compare has the exit status
// 0 if nothing is worse, 1 if something is worse or does not run any more, and 2 if
// the files cannot be read or compared. Take five runs or more to compare.
package main
