// SPDX-License-Identifier: MIT

package stream

// Sequence numbers are tracked in pages of 65,536, which take 8 KiB each
// while some of their numbers are missing and nothing once all have come.
const (
	pageShift = 16
	pageLen   = 1 << pageShift
	pageMask  = pageLen - 1

	// maxSeq bounds what a sequence number may be, and with it the memory
	// that a forged one can cost. A window of ten minutes reaches it at
	// seven million datagrams a second.
	maxSeq = 1 << 32
)

type page struct {
	bits [pageLen / 64]uint64
	n    int // bits that are set
}

// complete stands for every page of which all numbers have come.
var complete = new(page)

// A Tracker tells which sequence numbers have come, exactly: it has no window
// out of which a late datagram could fall. In order and without loss it
// reuses one page for ever and does not allocate.
//
// The zero Tracker is ready for use. It is for one goroutine.
type Tracker struct {
	pages []*page // nil: none of its numbers has come
	spare *page
	next  uint64 // one more than the highest number so far

	received   uint64
	duplicated uint64
	reordered  uint64
}

// Add notes that the datagram numbered seq has come. It reports false, and
// notes nothing, if no sender can have used that number.
func (t *Tracker) Add(seq uint64) bool {
	if seq >= maxSeq {
		return false
	}
	i := int(seq >> pageShift)
	for i >= len(t.pages) {
		t.pages = append(t.pages, nil)
	}
	p := t.pages[i]
	if p == complete {
		t.duplicated++
		return true
	}
	if p == nil {
		p = t.take()
		t.pages[i] = p
	}
	word, bit := &p.bits[seq&pageMask/64], uint64(1)<<(seq%64)
	if *word&bit != 0 {
		t.duplicated++
		return true
	}
	*word |= bit
	p.n++
	if p.n == pageLen {
		t.pages[i], t.spare = complete, p
	}
	t.received++
	if seq < t.next {
		t.reordered++
	} else {
		t.next = seq + 1
	}
	return true
}

// take returns an empty page.
func (t *Tracker) take() *page {
	p := t.spare
	if p == nil {
		return new(page)
	}
	t.spare = nil
	*p = page{}
	return p
}

// Received returns how many different numbers have come.
func (t *Tracker) Received() uint64 { return t.received }

// Duplicated returns how many datagrams carried a number that had come before.
func (t *Tracker) Duplicated() uint64 { return t.duplicated }

// Reordered returns how many datagrams came, for the first time, after one
// with a higher number.
func (t *Tracker) Reordered() uint64 { return t.reordered }
