// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// sending is a packet on its way: of which image, its bytes, when it comes.
type sending struct {
	block uint64
	id    int
	bytes []byte
	due   time.Duration
}

// traffic sends images over a bad wire: packets are lost, come twice, and come late by
// up to a few milliseconds. It also returns which ids of each image come at all.
func traffic(rnd *rand.Rand, cam camera, from, images uint64, loss float64) (ps []sending, came map[uint64]map[int]bool) {
	came = map[uint64]map[int]bool{}
	for i := range images {
		block := (from+i-1)%65535 + 1
		came[block] = map[int]bool{}
		for id, b := range cam.packets(block) {
			due := time.Duration(i)*10*ms + time.Duration(id)*100*time.Microsecond
			if rnd.Float64() < loss {
				continue
			}
			came[block][id] = true
			for range 1 + rnd.IntN(8)/7 { // one in eight comes twice
				ps = append(ps, sending{block, id, b, due + time.Duration(rnd.IntN(int(5*ms)))})
			}
		}
	}
	slices.SortFunc(ps, func(a, b sending) int { return int(a.due - b.due) })
	return ps, came
}

// The oracle of the model: an image is complete if each of its packets came, and what
// is missing is what did not come. Without resends, and with buffers enough.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { model(t, seed) })
	}
}

func model(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	cam := camera{size: 136, w: uint32(1 + rnd.IntN(60)), h: uint32(1 + rnd.IntN(40))}
	loss := []float64{0, 0.01, 0.2}[seed%3]
	ps, came := traffic(rnd, cam, []uint64{1, 65530}[seed%2], 20, loss)
	r := newRig(t, cam, Config{Buffers: 32})
	for _, p := range ps {
		r.feed(at(p.due), p.bytes)
		r.Tick(at(p.due))
	}
	r.Tick(at(time.Minute))
	n := len(cam.packets(1))
	var want Counters
	seen := map[uint64]bool{}
	sized := false // until a leader or a trailer has come, nobody knows where images end
	for m, ok := r.Next(); ok; m, ok = r.Next() {
		seen[m.ID] = true
		if lost := n - len(came[m.ID]); lost == 0 {
			want.CompletedBuffers++
			sized = true
			if m.Status != Complete || !bytes.Equal(m.Data, cam.image(m.ID)) {
				t.Errorf("image %d: %v, missing %v; all came", m.ID, m.Status, m.Missing)
			}
		} else {
			want.Failures++
			if sized = sized || came[m.ID][0] || came[m.ID][n-1]; sized {
				checkMissing(t, m, came[m.ID], n)
			}
		}
		for _, g := range m.Missing {
			want.MissingPackets += uint64(g.Last-g.First) + 1
		}
		r.Release(m)
	}
	for block, ids := range came {
		if len(ids) > 0 && !seen[block] {
			t.Errorf("image %d was not delivered", block)
		}
	}
	got := r.Counters()
	got = Counters{CompletedBuffers: got.CompletedBuffers, Failures: got.Failures, MissingPackets: got.MissingPackets}
	if got != want {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if len(r.free) != 32 {
		t.Errorf("%d buffers are free", len(r.free))
	}
}

// checkMissing tells that what an image says it lacks is what did not come.
func checkMissing(t *testing.T, m *Image, came map[int]bool, n int) {
	t.Helper()
	if m.Status != Missing && m.Status != TimedOut {
		t.Errorf("image %d: %v, but packets are missing", m.ID, m.Status)
	}
	missing := map[int]bool{}
	for _, r := range m.Missing {
		for id := r.First; id <= r.Last; id++ {
			missing[int(id)] = true
		}
	}
	for id := range n {
		if missing[id] == came[id] {
			t.Errorf("image %d, packet %d: came %v, said to be missing %v", m.ID, id, came[id], missing[id])
		}
	}
	if len(missing)+len(came) != n {
		t.Errorf("image %d: %d missing, %d came, of %d", m.ID, len(missing), len(came), n)
	}
}

// With a camera that answers, over the same bad wire, every image is complete.
func TestModelResend(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		cam := camera{size: 136, w: 50, h: uint32(100 + rnd.IntN(40))}
		ps, _ := traffic(rnd, cam, 65530, 20, 0.02)
		r := newRig(t, cam, Config{Buffers: 32, Resend: true, ResendRatio: 2})
		sent := map[uint64][][]byte{}
		var complete int
		for len(ps) > 0 {
			p := ps[0]
			ps = ps[1:]
			if p.bytes != nil { // nil: only the time passes
				r.feed(at(p.due), p.bytes)
			}
			r.Tick(at(p.due))
			for _, q := range r.Requests(nil) {
				if sent[q.Block] == nil {
					sent[q.Block] = cam.packets(q.Block)
				}
				for id := q.First; id <= q.Last; id++ {
					ps = append(ps, sending{q.Block, int(id), sent[q.Block][id], p.due + 2*ms})
				}
			}
			if len(ps) == 0 && p.due < time.Second {
				ps = append(ps, sending{due: p.due + ms})
			}
			slices.SortStableFunc(ps, func(a, b sending) int { return int(a.due - b.due) })
			for m, ok := r.Next(); ok; m, ok = r.Next() {
				if m.Status != Complete || !bytes.Equal(m.Data, cam.image(m.ID)) {
					t.Errorf("seed %d: image %d: %v, missing %v", seed, m.ID, m.Status, m.Missing)
				}
				complete++
				r.Release(m)
			}
		}
		if complete != 20 {
			t.Errorf("seed %d: %d images of 20\n%v", seed, complete, r.Counters())
		}
	}
}
