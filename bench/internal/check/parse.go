// SPDX-License-Identifier: MIT

package check

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// parseConfig reads a kernel's configuration. Options that it does not name are "n".
func parseConfig(r io.Reader) (map[string]string, error) {
	values := make(map[string]string, len(options))
	for _, o := range options {
		values[o.name] = "n"
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if _, wanted := values[name]; ok && wanted {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// parseMemory reads /proc/meminfo: "HugePages_Total:       8", "Hugepagesize:    2048 kB".
func parseMemory(text string) (total, free int, size int64) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		switch fields[0] {
		case "HugePages_Total:":
			total = n
		case "HugePages_Free:":
			free = n
		case "Hugepagesize:":
			size = int64(n) << 10
		}
	}
	return total, free, size
}

// parseProtocols reads /proc/net/protocols for the number of AF_XDP sockets in the
// network namespace, Unknown if the kernel has none of that protocol.
func parseProtocols(text string) int {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 2 && fields[0] == "XDP" {
			if n, err := strconv.Atoi(fields[2]); err == nil && n >= 0 {
				return n
			}
		}
	}
	return Unknown
}

// Offsets at which the rings of an AF_XDP socket are mapped (linux/if_xdp.h). No
// other socket can be mapped at the last two.
const (
	offsetFill       = 0x100000000
	offsetCompletion = 0x180000000
)

// parseMaps finds the AF_XDP sockets in the mappings of a process, by inode:
//
//	7f0c00000000-7f0c00009000 rw-s 100000000 00:08 4711   socket:[4711]
func parseMaps(r io.Reader) (inodes []uint64, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "socket:[") {
			continue
		}
		offset, err := strconv.ParseUint(fields[2], 16, 64)
		if err != nil || offset != offsetFill && offset != offsetCompletion {
			continue
		}
		if inode, err := strconv.ParseUint(fields[4], 10, 64); err == nil && !slices.Contains(inodes, inode) {
			inodes = append(inodes, inode)
		}
	}
	return inodes, lines.Err()
}

// parseSocketLink reads where a descriptor in /proc leads: "socket:[4711]".
func parseSocketLink(target string) (inode uint64, ok bool) {
	number, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return inode, err == nil
}

// parseOnline counts the processors at the head of /proc/interrupts: "CPU0  CPU1".
func parseOnline(text string) int {
	head, _, _ := strings.Cut(text, "\n")
	return len(strings.Fields(head))
}

// parseInterrupts reads /proc/interrupts for those of an interface: whose number a
// poller has, that stand on its bus address, or that are named after it. Each line is
//
//	38:     0  11371  PCI-MSIX-0000:00:03.0   1-edge   virtio2-input.0
func parseInterrupts(text string, numbers []int, bus, name string) (found []IRQ) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(fields[0], ":"))
		if err != nil {
			continue // of an architecture's own: "NMI:", "LOC:"
		}
		action := fields[len(fields)-1]
		onBus := bus != "" && slices.ContainsFunc(fields, func(s string) bool { return strings.HasSuffix(s, "-"+bus) })
		named := action == name || strings.HasPrefix(action, name+"-") || strings.HasPrefix(action, name+":")
		if slices.Contains(numbers, n) || onBus || named {
			found = append(found, IRQ{Number: n, Name: action})
		}
	}
	return found
}
