// SPDX-License-Identifier: MIT

package report

import "fmt"

// Mpps shows a rate in millions a second.
func Mpps(pps float64) string { return Digits(pps / 1e6) }

// Digits shows as much of a number as is worth reading, in six characters for
// all that can be expected.
func Digits(v float64) string { return places(v, 3) }

// Three shows three digits.
func Three(v float64) string { return places(v, 2) }

// places shows a number below 10 with so many places, one below 100 with one less,
// others with two less.
func places(v float64, n int) string {
	switch {
	case v < 10:
	case v < 100:
		n--
	default:
		n -= 2
	}
	return fmt.Sprintf("%.*f", n, v)
}

// Bitrate shows bits a second with their unit.
func Bitrate(bps float64) string {
	if bps >= 1e9 {
		return fmt.Sprintf("%.2f Gb/s", bps/1e9)
	}
	return fmt.Sprintf("%.0f Mb/s", bps/1e6)
}

// Percent shows a share, and that there was something even where it rounds to
// nothing.
func Percent(p float64) string {
	switch {
	case p > 0 && p < 0.01:
		return "<0.01"
	case p < 10:
		return fmt.Sprintf("%.2f", p)
	default:
		return fmt.Sprintf("%.1f", p)
	}
}
