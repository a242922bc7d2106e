// SPDX-License-Identifier: MIT

package cpu

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine reads the times of this machine since it started.
func Machine() (Times, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, fmt.Errorf("cpu: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Times{}, fmt.Errorf("cpu: read clock: %w", err)
	}
	t, err := ParseStat(string(text))
	t.At = time.Duration(now.Nano())
	return t, err
}

// Watch reads what this machine does in a time that begins now.
func Watch(ctx context.Context, d time.Duration) (Times, error) {
	before, err := Machine()
	if err != nil {
		return Times{}, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return Times{}, ctx.Err()
	}
	after, err := Machine()
	return after.Since(before), err
}

// Process returns the time that all threads of this process have run, in and
// out of the kernel. Soft interrupts are in it only by the kernel's choice of
// whom to charge; Machine has them all.
func Process() (user, system time.Duration, err error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return 0, 0, fmt.Errorf("cpu: getrusage: %w", err)
	}
	return time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), nil
}

// Allowed returns the numbers of the processors that the calling thread may
// run on, in rising order.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("cpu: sched_getaffinity: %w", err)
	}
	var cpus []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// PinThread ties the calling thread, and all threads and processes that it
// will start, to one processor. The caller has locked the thread.
func PinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cpu: tie thread to processor %d: %w", cpu, err)
	}
	return nil
}

// Model returns what the kernel calls the processor, or the name of the board
// where it does not say, or nothing.
func Model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	if m := parseModel(string(text)); m != "" {
		return m
	}
	// Device trees name the board; the text ends with a zero.
	board, err := os.ReadFile("/proc/device-tree/model")
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(board), "\x00\n")
}
