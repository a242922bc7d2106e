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
	Downs                uint64        // times that its carrier went since then
	Unresolved           uint64        // packets that the kernel gave up for want of a neighbour
	Failed               uint64        // neighbours that it gave up, with what waited for them
	Machine              cpu.Times     // since the machine started
	User, System         time.Duration // of this process since it started
}

// A Meter reads the gauges, those of the interface that p names among them.
type Meter func(p control.Prepare) (Gauges, error)
