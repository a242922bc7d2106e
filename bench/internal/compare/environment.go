// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// noisy is the share of a machine, in percent, beyond which whatever else ran on it
// shows in the figures.
const noisy = 5

// environments tells how the two benches differ in what the results depend on.
func environments(old, now report.Document) []string {
	var w []string
	differ := func(what string, a, b any) {
		if a != b {
			w = append(w, fmt.Sprintf("%s: %v, was %v", what, b, a))
		}
	}
	a, b := old.Env, now.Env
	differ("kernel", a.Kernel, b.Kernel)
	differ("architecture", a.Arch, b.Arch)
	differ("processor", a.CPUModel, b.CPUModel)
	differ("CPUs", a.CPUs, b.CPUs)
	differ("Go", a.Go, b.Go)
	differ("link", a.Link, b.Link)
	differ("seconds of a run", a.Duration, b.Duration)
	differ("seconds of warm-up", a.Warmup, b.Warmup)
	differ("kernel of the receiver", a.Receiver.Kernel, b.Receiver.Kernel)
	differ("processor of the receiver", a.Receiver.CPUModel, b.Receiver.CPUModel)
	differ("CPUs of the sender", fmt.Sprint(a.Sender.Pinned), fmt.Sprint(b.Sender.Pinned))
	differ("CPUs of the receiver", fmt.Sprint(a.Receiver.Pinned), fmt.Sprint(b.Receiver.Pinned))
	for _, e := range []struct {
		which string
		busy  float64
	}{{"old", a.BusyBefore}, {"new", b.BusyBefore}} {
		if e.busy > noisy {
			w = append(w, fmt.Sprintf("the machine was %.0f %% busy with other things before the %s results", e.busy, e.which))
		}
	}
	return w
}

// settings tells how a row differs in what it was.
func settings(old, now report.Row) []string {
	var w []string
	a, b := old.Runs[0], now.Runs[0]
	if a.Mode != b.Mode {
		w = append(w, fmt.Sprintf("mode of %s: %s, was %s", now.Key, b.Mode, a.Mode))
	}
	if a.MTU != b.MTU {
		w = append(w, fmt.Sprintf("MTU of %s: %d, was %d", now.Key, b.MTU, a.MTU))
	}
	if a.Batch != b.Batch {
		w = append(w, fmt.Sprintf("batch of %s: %d, was %d", now.Key, b.Batch, a.Batch))
	}
	return w
}
