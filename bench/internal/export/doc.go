// SPDX-License-Identifier: MIT

// Package export writes results in formats that other tools read: lines as netperf
// prints them, Go benchmark lines, and CSV.
//
// All of them have runs, not rows: whoever reads them wants to see how these spread.
// Rows that were refused are in none, what was skipped is in CSV only, which has a
// place for the reason.
package export
