// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// offered lists what is true, in the order of the alphabet.
func offered(what map[string]bool) string {
	var have []string
	for _, name := range slices.Sorted(maps.Keys(what)) {
		if what[name] {
			have = append(have, name)
		}
	}
	if len(have) == 0 {
		return "none"
	}
	return strings.Join(have, ", ")
}

func (f *findings) interrupts(m Machine, i Interface) {
	const topic = "interrupts"
	if len(i.IRQs) == 0 {
		f.ok(topic, "none of its own: the sender's processor does the receiver's work, or they cannot be told")
		return
	}
	var parts []string
	free, places := 0, make(map[string]bool)
	for _, q := range i.IRQs {
		cpus := q.CPUs
		if cpus == "" {
			cpus = "?"
		}
		if cpus == allCPUs(m.Online) {
			free++
		}
		places[cpus] = true
		parts = append(parts, fmt.Sprintf("%d on %s", q.Number, cpus))
	}
	found := plural(len(i.IRQs), "interrupt") + ": " + strings.Join(parts, ", ")
	pin := fmt.Sprintf("echo 0 > /proc/irq/%d/smp_affinity_list", i.IRQs[0].Number)
	switch {
	case m.Online == 1:
		f.ok(topic, "%s", found)
	case free > 0:
		f.add(topic, Note, found, "those on all processors may move, and measurements with them", pin+" # and stop irqbalance")
	case len(i.IRQs) > 2 && len(places) == 1:
		f.add(topic, Note, found, "one processor serves all: it is the first to be full", pin+" # another one for each")
	default:
		f.ok(topic, "%s", found)
	}
}

// allCPUs is how the kernel writes all of n processors in a list.
func allCPUs(n int) string {
	if n == 1 {
		return "0"
	}
	return fmt.Sprintf("0-%d", n-1)
}
