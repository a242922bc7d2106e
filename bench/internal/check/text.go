// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"strings"
)

// bytesText writes a size in the largest unit that it is a whole number of.
func bytesText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// ownersText names processes: "sink (pid 12)".
func ownersText(owners []Owner) string {
	if len(owners) == 0 {
		return "processes that cannot be seen from here"
	}
	var names []string
	for _, o := range owners {
		names = append(names, fmt.Sprintf("%s (pid %d)", o.Name, o.PID))
	}
	return strings.Join(names, ", ")
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
