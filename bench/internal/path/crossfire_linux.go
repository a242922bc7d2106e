// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// A crossfire sends datagrams out of the kernel and counts those that come, in an XDP
// program that drops them: so little work that what lies between two of them is the
// limit.
type crossfire struct {
	*frameGenerator
	counts *ebpf.Map // what came of each run, by its number modulo countedRuns
	detach func() error
}

// countedRuns is how many runs are counted apart, a power of two: who sends may begin
// before who counts knows of the run.
const countedRuns = 4

func openCrossfire(cfg Config) (*crossfire, error) {
	g, err := newGenerator(cfg, true)
	if err != nil {
		return nil, err
	}
	c := &crossfire{frameGenerator: g}
	if c.counts, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: countedRuns}); err != nil {
		return nil, errors.Join(fmt.Errorf("make counter of arrivals: %w", err), c.Close())
	}
	if c.detach, err = attachXDP(cfg.Interface, countArrivals(cfg, c.counts.FD())); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// countArrivals counts the datagrams of a run, which are whole, by the run's number in them.
func countArrivals(cfg Config, counts int) asm.Instructions {
	const run = ipv4Headers + 8 // where package stream puts it
	return forPort(cfg.Local.Port(), ipv4Headers+stream.HeaderSize, asm.Instructions{
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(ipv4Headers+cfg.Size)),
		asm.JNE.Reg(asm.R4, asm.R3, "pass"),
		asm.LoadMem(asm.R6, asm.R2, run+2, asm.Half), // the low half is enough
		asm.HostTo(asm.BE, asm.R6, asm.Half),
		asm.And.Imm(asm.R6, countedRuns-1),
		asm.StoreMem(asm.RFP, -4, asm.R6, asm.Word),
		asm.LoadMapPtr(asm.R1, counts),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 1), // XDP_DROP
		asm.Return(),
	})
}

// Arrived implements Crossfire.
func (c *crossfire) Arrived(run uint32) (n uint64, err error) {
	if err := c.counts.Lookup(run%countedRuns, &n); err != nil {
		return 0, fmt.Errorf("read counter of arrivals: %w", err)
	}
	return n, nil
}

// Expect implements Crossfire: it makes room for the run after this one, of which
// nothing can come yet.
func (c *crossfire) Expect(run uint32) error {
	if err := c.counts.Put((run+1)%countedRuns, uint64(0)); err != nil {
		return fmt.Errorf("clear counter of arrivals: %w", err)
	}
	return nil
}

// Close takes the program off and frees all.
func (c *crossfire) Close() error {
	var errs error
	if c.detach != nil {
		errs = c.detach()
		c.detach = nil
	}
	if c.counts != nil {
		errs = errors.Join(errs, c.counts.Close())
	}
	return errors.Join(errs, c.frameGenerator.Close())
}
