// SPDX-License-Identifier: MIT

package stream

import "encoding/binary"

// A Checker reads the payloads that a receiver got in one window and counts
// them.
//
// It is for one goroutine.
type Checker struct {
	tracker Tracker
	run     uint32
	size    int
	want    uint64 // sum over the body

	foreign   uint64
	truncated uint64
	corrupt   uint64
}

// NewChecker returns a checker for payloads of size bytes of the given run.
func NewChecker(size int, run uint32) *Checker {
	return &Checker{run: run, size: size, want: Sum(body(size))}
}

// Add reads the payload p, which goes on in rest, in full and counts it. It returns
// the number in it, and whether it is whole and of this run: first or again.
func (c *Checker) Add(p []byte, rest ...[]byte) (seq uint64, ok bool) {
	if len(p) < HeaderSize {
		c.foreign++
		return 0, false
	}
	got, length := Sum(p[HeaderSize:]), len(p)
	for _, s := range rest {
		got += sumAt(s, length-HeaderSize)
		length += len(s)
	}
	if binary.BigEndian.Uint32(p[8:]) != c.run || binary.BigEndian.Uint32(p[12:]) != uint32(c.size) {
		c.foreign++
		return 0, false
	}
	if length != c.size {
		c.truncated++
		return 0, false
	}
	if got != c.want {
		c.corrupt++
		return 0, false
	}
	seq = binary.BigEndian.Uint64(p)
	if ok = c.tracker.Add(seq); !ok {
		c.foreign++
	}
	return seq, ok
}

// A Tally is what a Checker counted. Received counts each datagram once, and
// only whole ones of the window's own run; Truncated and Corrupt ones are not
// in it, so that they are part of what was lost.
type Tally struct {
	Received   uint64 `json:"received"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Truncated  uint64 `json:"truncated"` // of this run, but not of its length
	Corrupt    uint64 `json:"corrupt"`   // of this run and length, with other bytes
	Foreign    uint64 `json:"foreign"`   // of another run, or not of the bench at all
}

// Plus adds up what two checkers counted.
func (t Tally) Plus(o Tally) Tally {
	return Tally{
		Received: t.Received + o.Received, Duplicated: t.Duplicated + o.Duplicated, Reordered: t.Reordered + o.Reordered,
		Truncated: t.Truncated + o.Truncated, Corrupt: t.Corrupt + o.Corrupt, Foreign: t.Foreign + o.Foreign,
	}
}

// Tally returns the counts so far.
func (c *Checker) Tally() Tally {
	return Tally{
		Received:   c.tracker.received,
		Duplicated: c.tracker.duplicated,
		Reordered:  c.tracker.reordered,
		Truncated:  c.truncated,
		Corrupt:    c.corrupt,
		Foreign:    c.foreign,
	}
}
