// SPDX-License-Identifier: MIT

package device

import (
	"fmt"
	"math/rand/v2"
)

// Faults are what a bad network does to packets, each with a share of them from 0 to
// 1. Packets that are sent again are spared.
type Faults struct {
	Suppress  float64 // are not sent
	Duplicate float64 // are sent twice
	Reorder   float64 // are sent after the one that follows
	Seed      uint64  // the same seed, the same faults
}

// fault is what happens to one packet.
type fault int

const (
	none fault = iota
	suppressed
	duplicated
	reordered
)

func (f Faults) validate() error {
	for name, share := range map[string]float64{"Suppress": f.Suppress, "Duplicate": f.Duplicate, "Reorder": f.Reorder} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("device: config: Faults.%s %v: must be from 0 to 1", name, share)
		}
	}
	return nil
}

// dice chooses the packets.
type dice struct {
	Faults
	rng *rand.Rand
}

func newDice(f Faults) *dice { return &dice{f, rand.New(rand.NewPCG(f.Seed, 0))} }

// throw says what happens to the next packet.
func (d *dice) throw() fault {
	if d.Suppress+d.Duplicate+d.Reorder == 0 {
		return none
	}
	x := d.rng.Float64()
	switch {
	case x < d.Suppress:
		return suppressed
	case x < d.Suppress+d.Duplicate:
		return duplicated
	case x < d.Suppress+d.Duplicate+d.Reorder:
		return reordered
	}
	return none
}

// run is how many of the next n packets nothing happens to, and what happens to the
// one after them, if there is one.
func (d *dice) run(n int) (good int, then fault) {
	if d.Suppress+d.Duplicate+d.Reorder == 0 {
		return n, none
	}
	for good < n {
		if then = d.throw(); then != none {
			return good, then
		}
		good++
	}
	return n, none
}
