// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"strconv"
)

// rate is bits of payload a second.
type rate float64

// UnmarshalText reads a number with one of iperf's suffixes: k, m and g for thousands,
// K, M and G for 1024s.
func (r *rate) UnmarshalText(text []byte) error {
	number, unit := string(text), 1.0
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'k':
			unit = 1e3
		case 'm':
			unit = 1e6
		case 'g':
			unit = 1e9
		case 'K':
			unit = 1 << 10
		case 'M':
			unit = 1 << 20
		case 'G':
			unit = 1 << 30
		}
		if unit != 1 {
			number = number[:n-1]
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*unit > 1e15 {
		return fmt.Errorf("%q: want bits a second, such as 50m", text)
	}
	*r = rate(v * unit)
	return nil
}

// MarshalText is what UnmarshalText reads.
func (r rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r rate) String() string {
	for _, u := range []struct {
		unit   float64
		suffix string
	}{{1e9, "g"}, {1e6, "m"}, {1e3, "k"}} {
		if v := float64(r) / u.unit; v >= 1 {
			return strconv.FormatFloat(v, 'g', -1, 64) + u.suffix
		}
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

// datagrams is how many of so many bytes that is a second.
func (r rate) datagrams(size int) float64 { return float64(r) / 8 / float64(size) }
