// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// machine says what ran where. Interrupts is where soft interrupts run on one machine.
func machine(env report.Env, tx, rx, interrupts string) string {
	s, r := env.Sender, env.Receiver
	if env.Peer == "" {
		return fmt.Sprintf("Linux %s, %s, %s, %d CPUs. %s on CPU %s, %s on CPU %s, GOMAXPROCS %d and %d; %s.",
			s.Kernel, s.Go, s.CPUModel, s.CPUs, tx, list(s.Pinned), rx, list(r.Pinned), s.GOMAXPROCS, r.GOMAXPROCS, interrupts)
	}
	return fmt.Sprintf("%s: %s. %s: %s. Soft interrupts run where the interrupts of the interfaces go.", tx, host(s), upper(rx), host(r))
}

// host describes the machine of one end.
func host(f control.Facts) string {
	text := fmt.Sprintf("Linux %s, %s, %s, %s, %d CPUs, on CPU %s, GOMAXPROCS %d", f.Kernel, f.Arch, f.Go, f.CPUModel, f.CPUs, list(f.Pinned), f.GOMAXPROCS)
	if f.Build != "" {
		text += ", build " + f.Build
	}
	return text
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sums tells who computes the checksums of UDP datagrams.
func sums(env report.Env) string {
	if env.Peer == "" {
		return "UDP checksums: sockets leave them to a veth, which never computes them; the AF_XDP paths send 0, which means none."
	}
	return "UDP checksums: sockets leave them to the interface, or to their kernel where that cannot; the AF_XDP paths send 0, which means none."
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
