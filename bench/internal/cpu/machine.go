// SPDX-License-Identifier: MIT

package cpu

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Times is the time that the processors of a machine spent, in clock ticks
// summed over all of them, by what it went into. The kernel's guest columns
// are missing since it counts them in User and Nice too.
type Times struct {
	User    uint64 `json:"user"`
	Nice    uint64 `json:"nice"`
	System  uint64 `json:"system"`
	Idle    uint64 `json:"idle"`
	IOWait  uint64 `json:"iowait"`
	IRQ     uint64 `json:"irq"`
	SoftIRQ uint64 `json:"softirq"`
	Steal   uint64 `json:"steal"`
	CPUs    int    `json:"cpus"` // online

	// Wall is the time that all processors together had, by the clock, between two
	// readings: more exact than the sum of the ticks. 0 in a single reading.
	Wall time.Duration `json:"wall,omitempty"`
	// At is when the times were read, on the monotonic clock.
	At time.Duration `json:"-"`
}

// Tick is the unit of the times: USER_HZ is 100 on every port that Go has.
const Tick = 10 * time.Millisecond

// Busy is the part of the time that is not idle. Time stolen by a hypervisor
// is in it: the machine wanted to run.
func (t Times) Busy() uint64 {
	return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal
}

// Total is all of the time.
func (t Times) Total() uint64 { return t.Busy() + t.Idle + t.IOWait }

// Since returns what t has more than an earlier reading of the same machine.
// A column that went back, as the kernel's idle columns can by a tick, counts
// as no change.
func (t Times) Since(earlier Times) Times {
	return Times{
		User:    since(t.User, earlier.User),
		Nice:    since(t.Nice, earlier.Nice),
		System:  since(t.System, earlier.System),
		Idle:    since(t.Idle, earlier.Idle),
		IOWait:  since(t.IOWait, earlier.IOWait),
		IRQ:     since(t.IRQ, earlier.IRQ),
		SoftIRQ: since(t.SoftIRQ, earlier.SoftIRQ),
		Steal:   since(t.Steal, earlier.Steal),
		CPUs:    t.CPUs,
		Wall:    max(0, t.At-earlier.At) * time.Duration(t.CPUs),
	}
}

// Plus returns the times of two machines together.
func (t Times) Plus(o Times) Times {
	return Times{
		User:    t.User + o.User,
		Nice:    t.Nice + o.Nice,
		System:  t.System + o.System,
		Idle:    t.Idle + o.Idle,
		IOWait:  t.IOWait + o.IOWait,
		IRQ:     t.IRQ + o.IRQ,
		SoftIRQ: t.SoftIRQ + o.SoftIRQ,
		Steal:   t.Steal + o.Steal,
		CPUs:    t.CPUs + o.CPUs,
		Wall:    t.Wall + o.Wall,
	}
}

func since(now, earlier uint64) uint64 {
	if now < earlier {
		return 0
	}
	return now - earlier
}

// Utilization is the busy share of all processors, in percent: 100 is every
// processor busy all the time. It is 0 for a window too short for a tick.
//
// It is what the clock has more than the idle time. That is exact, since the kernel
// notes when a processor goes to sleep and wakes (NO_HZ), where it only samples the
// busy columns, at its ticks: work that keeps time with these, as a camera at 50
// images a second does, is in them too often or never.
func (t Times) Utilization() float64 {
	if t.Wall > 0 {
		idle := time.Duration(t.Idle+t.IOWait) * Tick
		return 100 * float64(max(0, t.Wall-idle)) / float64(t.Wall)
	}
	total := t.Total()
	if total == 0 {
		return 0
	}
	return 100 * float64(t.Busy()) / float64(total)
}

// ServiceDemand is the processor time that moving data cost, by netperf's
// definition: microseconds of busy processor per KB of 1,024 bytes. The
// utilization, in percent, is over all processors of the machine, and the
// rate is that of the data that arrived, in bytes a second. It is 0 where
// nothing arrived.
func ServiceDemand(utilization float64, cpus int, bytesPerSecond float64) float64 {
	if bytesPerSecond <= 0 {
		return 0
	}
	return utilization * 10_000 * float64(cpus) / (bytesPerSecond / 1024)
}

// ParseStat reads the text of /proc/stat.
func ParseStat(text string) (Times, error) {
	var (
		t     Times
		found bool
	)
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == "cpu":
			if err := t.parse(rest); err != nil {
				return Times{}, err
			}
			found = true
		case strings.HasPrefix(name, "cpu"):
			t.CPUs++
		}
	}
	if !found || t.CPUs == 0 {
		return Times{}, fmt.Errorf("cpu: read /proc/stat: no cpu lines in %d bytes", len(text))
	}
	return t, nil
}

// parse reads the columns of the line that sums up all processors. Kernels
// since 2.6.11 have these eight; what follows is not needed.
func (t *Times) parse(columns string) error {
	fields := strings.Fields(columns)
	want := []*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ, &t.Steal}
	if len(fields) < len(want) {
		return fmt.Errorf("cpu: read /proc/stat: %d columns, want %d", len(fields), len(want))
	}
	for i, p := range want {
		v, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return fmt.Errorf("cpu: read /proc/stat column %d: %w", i+1, err)
		}
		*p = v
	}
	return nil
}

// parseModel finds the processor's name in the text of /proc/cpuinfo, whose
// keys differ between architectures.
func parseModel(text string) string {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "cpu", "Model", "uarch", "machine":
			if v := strings.TrimSpace(value); v != "" {
				return v
			}
		}
	}
	return ""
}
