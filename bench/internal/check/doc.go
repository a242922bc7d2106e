// SPDX-License-Identifier: MIT

// Package check is a doctor: it looks at a machine and its interfaces and tells what
// they are fit for, what stands in the way of AF_XDP, and the command that mends it.
// It changes nothing.
//
//	Source ──> Machine, Interface ──> Examine ──> Report ──> WriteText, WriteJSON
//	           facts, plain values    findings
//
// Facts and judgement are apart: every finding can be provoked by facts made up. Facts
// come from netlink and ethtool, from /proc, and never from /sys, which in a network
// namespace that was just made shows the interfaces of another one. What cannot be
// looked at for want of rights is among the facts too (Blind).
//
// What is known of drivers and kernels stands in two tables, each line with where it
// is from.
package check
