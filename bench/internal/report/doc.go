// SPDX-License-Identifier: MIT

// Package report turns the totals of two workers into results, and results
// into a table and a JSON file.
//
// A result is one run, raw. The table of streams shows, for each size and path,
// the run whose receive rate is the median, so that all figures of a row belong
// together. That of round trips shows the median of each figure over the runs, as
// one run's percentiles would not be steady; it never averages any.
package report
