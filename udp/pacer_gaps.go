// SPDX-License-Identifier: MIT

package udp

import (
	"math/bits"
	"time"
)

const (
	// subBins is how many bins a doubling of the gap has: each is 3 % wide at most.
	// Gaps below it have a bin for each nanosecond.
	subBins    = 1 << subBinBits
	subBinBits = 5
	// topBit bounds what is told apart: gaps of 2^topBit ns, 18 minutes, and more
	// share the last bin.
	topBit  = 40
	numBins = (topBit - subBinBits + 1) * subBins
)

// gaps is a histogram whose bins are even within a doubling and double in width from
// one to the next (log-linear): a fixed 9 KB, whatever comes.
type gaps struct {
	bins         [numBins]uint64
	count        uint64
	sum          time.Duration
	least, worst time.Duration

	wanted    time.Duration
	run, runs int // gaps below half the wanted one: in a row now, and the most there were
}

// binOf is the number of the bin that a gap belongs to.
func binOf(gap time.Duration) int {
	v := uint64(max(gap, 0))
	if v < subBins {
		return int(v)
	}
	if v >= 1<<topBit {
		return numBins - 1
	}
	shift := bits.Len64(v) - 1 - subBinBits
	return shift*subBins + int(v>>shift)
}

// binFrom is the least gap of a bin; that of the next is the end of it.
func binFrom(i int) time.Duration {
	if i < subBins {
		return time.Duration(i)
	}
	shift := i/subBins - 1
	return time.Duration(subBins+i%subBins) << shift
}

// add counts a gap.
func (g *gaps) add(gap time.Duration) {
	gap = max(gap, 0) // a device's clock may be set back
	g.bins[binOf(gap)]++
	if g.count == 0 || gap < g.least {
		g.least = gap
	}
	g.worst = max(g.worst, gap)
	g.count++
	g.sum += gap
	if gap >= g.wanted/2 {
		g.run = 0
		return
	}
	g.run++
	g.runs = max(g.runs, g.run)
}

// quantile is the gap that a part of all, from 0 to 1, do not exceed: the middle of
// its bin, and not outside of what was measured.
func (g *gaps) quantile(part float64) time.Duration {
	if g.count == 0 {
		return 0
	}
	rank := max(uint64(part*float64(g.count)+0.5), 1)
	var sum uint64
	for i, n := range g.bins {
		if sum += n; sum >= rank {
			from := binFrom(i)
			return min(max(from+(binFrom(i+1)-1-from)/2, g.least), g.worst)
		}
	}
	return g.worst
}

// filled are the bins that have something.
func (g *gaps) filled() (all []GapBin) {
	for i, n := range g.bins {
		if n > 0 {
			all = append(all, GapBin{binFrom(i), binFrom(i + 1), n})
		}
	}
	if g.bins[numBins-1] > 0 { // it has no end of its own
		all[len(all)-1].To = max(binFrom(numBins), g.worst+1)
	}
	return all
}
