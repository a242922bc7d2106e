// SPDX-License-Identifier: MIT

package cpu

// A Split is what the busy time of all processors went into, in percent of all time:
// the parts add up to Utilization. How much is busy is exact; of what is busy the
// kernel takes samples, so that parts of short windows are coarse.
type Split struct {
	User, System, SoftIRQ, IRQ float64
	Steal                      float64 // taken by a hypervisor
}

// Split returns the parts, all 0 where there was no sample.
func (t Times) Split() Split {
	busy := t.Busy()
	if busy == 0 {
		return Split{}
	}
	part := func(ticks uint64) float64 { return t.Utilization() * float64(ticks) / float64(busy) }
	return Split{
		User: part(t.User + t.Nice), System: part(t.System), SoftIRQ: part(t.SoftIRQ), IRQ: part(t.IRQ), Steal: part(t.Steal),
	}
}
