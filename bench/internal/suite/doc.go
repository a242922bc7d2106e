// SPDX-License-Identifier: MIT

// Package suite holds the tests of the bench.
//
// To add one, write a file with a function that returns its Test, and name that
// function in All: flags, rows, traffic, figures, table and notes are all in the
// Test. What its traffic needs is a package of its own, as stream and rr are; a
// further setting of a row is a field of control.Row, a further figure of a side one
// of control.Totals, and a further figure of a run one of report.Result.
//
// Both the bench and its workers read this: a worker runs the Traffic of the test
// that it is told, and no other.
package suite
