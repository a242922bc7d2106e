// SPDX-License-Identifier: MIT

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is a kernel's: major, minor, patch.
type Version [3]int

// ParseVersion reads the numbers that a release begins with: "6.1.0-18-amd64" is
// 6.1.0. What follows is the distribution's own, whose fixes the numbers do not tell.
func ParseVersion(release string) (Version, error) {
	var v Version
	end := strings.IndexFunc(release, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(release)
	}
	for i, part := range slices.Collect(strings.SplitSeq(strings.Trim(release[:end], "."), ".")) {
		if i == len(v) {
			break
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return Version{}, fmt.Errorf("check: kernel release %q: not a version", release)
		}
		v[i] = n
	}
	return v, nil
}

// MarshalText makes it a string in JSON.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads that.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// Before tells whether v is older than w.
func (v Version) Before(w Version) bool { return slices.CompareFunc(v[:], w[:], cmp.Compare) < 0 }

// String leaves out a patch number of 0.
func (v Version) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}
