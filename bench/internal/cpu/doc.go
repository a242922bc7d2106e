// SPDX-License-Identifier: MIT

// Package cpu charges processor time to a measured window: of the whole
// machine, from /proc/stat, and of the calling process.
//
// The whole machine counts because the copying of a data path happens in soft
// interrupts, which no process is charged for. The kernel keeps /proc/stat in
// ticks of 10 ms a CPU, which is the resolution of all figures made from it. What is
// busy is what is not idle: see Times.Utilization.
package cpu
