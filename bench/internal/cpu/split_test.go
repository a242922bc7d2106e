// SPDX-License-Identifier: MIT

package cpu

import (
	"math"
	"testing"
	"time"
)

// TestSplit has parts that add up to what was busy, by the clock where there is one.
func TestSplit(t *testing.T) {
	times := Times{User: 10, Nice: 10, System: 30, SoftIRQ: 40, IRQ: 5, Steal: 5, Idle: 80, IOWait: 20, CPUs: 2}
	for _, wall := range []time.Duration{0, 4 * time.Second} {
		times.Wall = wall
		s := times.Split()
		sum := s.User + s.System + s.SoftIRQ + s.IRQ + s.Steal
		if want := times.Utilization(); math.Abs(sum-want) > 1e-9 || math.Abs(s.SoftIRQ-0.4*want) > 1e-9 || math.Abs(s.User-0.2*want) > 1e-9 {
			t.Errorf("%+v adds up to %v, want %v", s, sum, want)
		}
	}
	if s := (Times{Idle: 100, CPUs: 1}).Split(); s != (Split{}) {
		t.Errorf("%+v of an idle machine", s)
	}
}
