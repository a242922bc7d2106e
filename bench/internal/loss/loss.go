// SPDX-License-Identifier: MIT

// Package loss gives every datagram that was sent and not received a place
// where it was lost.
package loss

import (
	"math/bits"
	"slices"
)

// A Place is somewhere that datagrams get lost, as it is called in the table.
type Place string

// The places that the bench knows.
const (
	Send        Place = "send error"      // the kernel took it, then said it was lost
	TXInvalid   Place = "tx descriptor"   // the kernel refused the descriptor
	TXRing      Place = "left in tx ring" // not sent when the sender's time was up
	Truncated   Place = "truncated"       // came shorter than it was sent
	Corrupt     Place = "corrupt"         // came with other bytes
	Late        Place = "too late"        // round trips: came after it was given up
	RXRing      Place = "rx ring full"    // AF_XDP: the receiver was too slow
	FillRing    Place = "fill ring empty" // AF_XDP: no frame was free
	RXDropped   Place = "rx dropped"      // AF_XDP: too long for a frame, or out of memory
	Filter      Place = "left to kernel"  // the XDP program did not take it
	Socket      Place = "socket buffer"   // full: the receiver was too slow
	Forward     Place = "forwarder full"  // the machine in the middle had no room in its TX ring
	DeviceTX    Place = "device tx drop"  // the sending interface dropped it
	DeviceRX    Place = "device rx drop"  // the receiving interface dropped it
	Neighbour   Place = "no neighbour"    // it waited for the next hop's hardware address in vain
	LinkDown    Place = "link down"       // it was under way when the link went down: no counter has these
	Unaccounted Place = "unaccounted"     // no counter knows
)

// order is the order of attribution. A place that counts single datagrams of
// one socket stands before one that counts everything on an interface.
var order = [...]Place{Send, TXInvalid, TXRing, Truncated, Corrupt, Late, RXRing, FillRing, RXDropped, Filter, Socket, Forward, DeviceTX, DeviceRX, Neighbour, LinkDown}

// Places returns all places that the bench knows, in the order of attribution.
func Places() []Place { return append(order[:], Unaccounted) }

// A Count is what one counter of lost datagrams shows.
type Count struct {
	Place Place  `json:"place"`
	N     uint64 `json:"n"`
	// Each is the most datagrams that one of N may stand for, if more than one:
	// the kernel counts a bundle of datagrams that it merged as one drop.
	Each uint64 `json:"each,omitempty"`
}

// more is how many datagrams c can explain beyond those that it counted.
func (c Count) more() uint64 { return c.N * (max(1, c.Each) - 1) }

// Counts are the counters of one side, at most one a place.
type Counts []Count

// Since returns what the counters show more than at an earlier reading. A
// place that the earlier reading lacks counts from 0; one that went back shows
// no change.
func (c Counts) Since(earlier Counts) Counts {
	var out Counts
	for _, now := range c {
		for _, e := range earlier {
			if e.Place == now.Place {
				now.N -= min(now.N, e.N)
			}
		}
		out = append(out, now)
	}
	return out
}

// Plus adds up counters of the same places.
func (c Counts) Plus(other Counts) Counts {
	sum := slices.Clone(c)
	for _, o := range other {
		if i := slices.IndexFunc(sum, func(n Count) bool { return n.Place == o.Place }); i >= 0 {
			sum[i].N += o.N
		} else {
			sum = append(sum, o)
		}
	}
	return sum
}

// Get returns what the counter of place shows, 0 if there is none.
func (c Counts) Get(place Place) uint64 {
	for _, n := range c {
		if n.Place == place {
			return n.N
		}
	}
	return 0
}

// A Split says where datagrams were lost: places with more than 0 only.
type Split map[Place]uint64

// Sum is the number of datagrams in the split.
func (s Split) Sum() uint64 {
	var sum uint64
	for _, n := range s {
		sum += n
	}
	return sum
}

// Main returns the place with the most datagrams, and false if there is none.
// Of places alike it is the one attributed first.
func (s Split) Main() (Place, bool) {
	var best Place
	for _, p := range Places() {
		if s[p] > s[best] {
			best = p
		}
	}
	return best, best != ""
}

// takesRest tells of a place that counts not datagrams but occasions on which any
// number of them may be lost.
func takesRest(p Place) bool { return p == LinkDown }

// Attribute gives each of lost datagrams one place, so that the split always
// sums up to lost. First every counter explains as many as it counted. What is
// left goes to the counters of bundles, each by how much more it can stand for,
// and what none explains is Unaccounted, unless
// there was an occasion for it. A counter can show more than was lost
// of the stream, where something else was dropped as well: it explains no more
// than was lost.
func Attribute(lost uint64, counts Counts) Split {
	split := Split{}
	take := func(p Place, n uint64) {
		if n = min(n, lost); n > 0 {
			split[p] += n
			lost -= n
		}
	}
	counts = sorted(counts)
	for _, c := range counts {
		if !takesRest(c.Place) {
			take(c.Place, c.N)
		}
	}
	rest, more := lost, uint64(0)
	for _, c := range counts {
		more += c.more()
	}
	for _, c := range counts {
		take(c.Place, share(rest, c.more(), more))
	}
	for _, c := range counts {
		if takesRest(c.Place) && c.N > 0 {
			take(c.Place, lost)
		}
	}
	take(Unaccounted, lost)
	return split
}

// share is the part of rest that belongs to part of whole, rounded up, but not
// more than part.
func share(rest, part, whole uint64) uint64 {
	if rest >= whole {
		return part
	}
	hi, lo := bits.Mul64(rest, part)
	q, r := bits.Div64(hi, lo, whole) // hi < whole, since rest < whole
	if r > 0 {
		q++
	}
	return q
}

// sorted returns the counts in the order of attribution.
func sorted(counts Counts) Counts {
	s := slices.Clone(counts)
	slices.SortStableFunc(s, func(a, b Count) int {
		return slices.Index(order[:], a.Place) - slices.Index(order[:], b.Place)
	})
	return s
}
