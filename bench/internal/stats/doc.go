// SPDX-License-Identifier: MIT

// Package stats says what repeated runs can tell: a median with an interval
// that covers it, and whether two sets of runs differ by more than chance.
//
// It assumes nothing about how runs are distributed. Two runs of one thing on one
// machine differ by what else the machine did, which is not bell-shaped: a few are
// slow, none is too fast. So there are ranks here, and neither means nor standard
// deviations.
package stats
