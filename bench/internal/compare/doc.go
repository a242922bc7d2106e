// SPDX-License-Identifier: MIT

// Package compare tells what changed between two documents of results beyond what
// chance does.
//
// Four runs or more on each side are judged by the test of Mann and Whitney: a figure
// has changed if runs of one and the same thing would look so different less than once
// in 20 times. Fewer runs cannot reach that however far they are apart. Three are
// judged by their ranges: changed, if these are further apart than the wider one is
// wide; perhaps changed, if they are apart. Of one run or two no more than that can be
// told. And what changed by less than a percent or so has not changed: Config.Least
// says how much.
//
// The more figures, the more of them differ by chance: one of 20, at the rate above.
package compare
