// SPDX-License-Identifier: MIT

package worker

import (
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
)

// Gauges are the counters around a path that every path has in common.
type Gauges struct {
	RXDropped, TXDropped uint64        // by the interface, in packets since it was made
	Machine              cpu.Times     // since the machine started
	User, System         time.Duration // of this process since it started
}

// A Meter reads the gauges, those of the interface that p names among them.
type Meter func(p control.Prepare) (Gauges, error)
