// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// unit is that of /proc/stat, the same on every architecture of Linux that Go has.
const unit = 10 * time.Millisecond

// clock is a reading of the processors' idle time.
type clock struct {
	at         time.Time
	idle       time.Duration // of all processors since the machine began
	processors int
}

// read reads it. What processors do is sampled by the kernel, at every tick of its
// timer, on most configurations: images that come at a multiple of the tick are seen
// always or never. How long they do nothing is measured, so that is what is read.
func read() (clock, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return clock{}, fmt.Errorf("frames: %w", err)
	}
	return parseClock(string(b), time.Now())
}

// parseClock reads /proc/stat: a line for all processors and one for each. Idle is in
// the fourth column, idle with something to wait for in the fifth.
func parseClock(stat string, now time.Time) (clock, error) {
	c := clock{at: now}
	for _, line := range strings.Split(stat, "\n") {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			c.processors++
			continue
		}
		idle, err := strconv.ParseUint(f[4], 10, 64)
		wait, err2 := strconv.ParseUint(f[5], 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return c, fmt.Errorf("frames: /proc/stat: %w", err)
		}
		c.idle = time.Duration(idle+wait) * unit
	}
	if c.processors == 0 {
		return c, errors.New("frames: /proc/stat has no processors")
	}
	return c, nil
}

// busy is how long the processors have been busy since an earlier reading, all
// together.
func (c clock) busy(earlier clock) time.Duration {
	all := c.at.Sub(earlier.at) * time.Duration(c.processors)
	return max(all-(c.idle-earlier.idle), 0)
}
