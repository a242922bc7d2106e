// SPDX-License-Identifier: MIT

package stream

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func span(from, to uint64) []uint64 {
	var s []uint64
	for i := from; i < to; i++ {
		s = append(s, i)
	}
	return s
}

func TestTracker(t *testing.T) {
	reversed := span(0, 200_000)
	slices.Reverse(reversed)
	tests := []struct {
		name                            string
		seqs                            []uint64
		received, duplicated, reordered uint64
	}{
		{"nothing", nil, 0, 0, 0},
		{"in order", span(0, 200_000), 200_000, 0, 0},
		{"first one lost", span(1, 10), 9, 0, 0},
		{"one lost", append(span(0, 5), span(6, 10)...), 9, 0, 0},
		{"one late", []uint64{0, 2, 3, 1, 4}, 5, 0, 1},
		{"one late by more than any window", append(append(span(0, 5), span(6, 400_000)...), 5), 400_000, 0, 1},
		{"two late", []uint64{0, 3, 1, 2, 4}, 5, 0, 2},
		{"duplicate at once", []uint64{0, 1, 1, 2}, 3, 1, 0},
		{"duplicate of a page that is through", append(span(0, 70_000), 3), 70_000, 1, 0},
		{"duplicate of a late one", []uint64{0, 2, 1, 1}, 3, 1, 1},
		{"all twice", append(span(0, 70_000), span(0, 70_000)...), 70_000, 70_000, 0},
		{"backwards", reversed, 200_000, 0, 199_999},
		{"page bound", []uint64{pageLen - 1, pageLen, pageLen - 1, pageLen}, 2, 2, 0},
		{"last number", []uint64{maxSeq - 1, maxSeq - 1}, 1, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tr Tracker
			for _, s := range tt.seqs {
				if !tr.Add(s) {
					t.Fatalf("number %d refused", s)
				}
			}
			if tr.Received() != tt.received || tr.Duplicated() != tt.duplicated || tr.Reordered() != tt.reordered {
				t.Errorf("received %d duplicated %d reordered %d, want %d %d %d",
					tr.Received(), tr.Duplicated(), tr.Reordered(), tt.received, tt.duplicated, tt.reordered)
			}
		})
	}
}

func TestTrackerRefuses(t *testing.T) {
	var tr Tracker
	for _, s := range []uint64{maxSeq, 1 << 63, ^uint64(0)} {
		if tr.Add(s) {
			t.Errorf("number %d taken", s)
		}
	}
	if len(tr.pages) != 0 || tr.Received()+tr.Duplicated()+tr.Reordered() != 0 {
		t.Errorf("refused numbers left a trace: %d pages", len(tr.pages))
	}
}

// model is the tracker without any thought for memory or time.
type model struct {
	seen                            map[uint64]bool
	received, duplicated, reordered uint64
}

func (m *model) add(seq uint64) {
	if m.seen[seq] {
		m.duplicated++
		return
	}
	for s := range m.seen {
		if s > seq {
			m.reordered++
			break
		}
	}
	m.seen[seq] = true
	m.received++
}

func compare(t *testing.T, seqs []uint64) {
	t.Helper()
	var tr Tracker
	m := model{seen: map[uint64]bool{}}
	for _, s := range seqs {
		tr.Add(s)
		m.add(s)
	}
	if tr.Received() != m.received || tr.Duplicated() != m.duplicated || tr.Reordered() != m.reordered {
		t.Errorf("received %d duplicated %d reordered %d, model %d %d %d of %v",
			tr.Received(), tr.Duplicated(), tr.Reordered(), m.received, m.duplicated, m.reordered, seqs)
	}
}

func TestTrackerModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		base := rng.Uint64N(3 * pageLen)
		var seqs []uint64
		for range 300 {
			seqs = append(seqs, base+rng.Uint64N(400))
		}
		compare(t, seqs)
	}
}

// FuzzTracker reads each byte pair as a step from the last number, so that
// small inputs reach page bounds and duplicates.
func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 0, 1})
	f.Add([]byte{255, 255, 0, 1, 128, 0, 0, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		seq := uint64(pageLen)
		var seqs []uint64
		for len(steps) >= 2 && len(seqs) < 500 {
			step := int64(int16(uint16(steps[0])<<8 | uint16(steps[1])))
			seq = (seq + uint64(step)) % (4 * pageLen)
			seqs = append(seqs, seq)
			steps = steps[2:]
		}
		compare(t, seqs)
	})
}
