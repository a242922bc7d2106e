// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// machine says what ran where.
func machine(env report.Env, tx, rx, interrupts string) string {
	s, r := env.Sender, env.Receiver
	return fmt.Sprintf("Linux %s, %s, %s, %d CPUs. %s on CPU %s, %s on CPU %s, GOMAXPROCS %d and %d; %s.",
		s.Kernel, s.Go, s.CPUModel, s.CPUs, tx, list(s.Pinned), rx, list(r.Pinned), s.GOMAXPROCS, r.GOMAXPROCS, interrupts)
}

func list(cpus []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
}

// buffers tells what the socket paths got to receive into, once a size.
func buffers(all []report.Buffer) string {
	var parts []string
	seen := map[int]bool{}
	for _, b := range all {
		if !seen[b.Size] {
			seen[b.Size] = true
			parts = append(parts, fmt.Sprintf("%d of %d for %d-byte payloads", b.Got, b.Asked, b.Size))
		}
	}
	if parts == nil {
		return ""
	}
	return "Socket receive buffers, bytes got of bytes asked: " + strings.Join(parts, ", ") + "."
}
