// SPDX-License-Identifier: MIT

package umem

import "testing"

// simulation is an area with two pools, two pairs of rings and a model of who
// has which chunk.
type simulation struct {
	t     testing.TB
	a     *Area
	pools [2]*Pool
	rings [2]uint32
	fill  [2][]uint64
	sent  [2][]uint64
	mine  []Frame        // frames that the user holds
	stale []Frame        // frames that he does not hold any more
	owner map[uint32]int // chunk: 0 the user's, 1 + r the kernel's for fill, 3 + r for sending; none: free
}

// FuzzOwnership moves chunks about by random steps, misuse among them: each has
// exactly one owner, a stale frame is always refused, and no pool gets corrupt.
func FuzzOwnership(f *testing.F) {
	f.Add([]byte{0, 8, 16, 24, 32, 40, 48, 56, 1, 9, 17, 25, 33})
	f.Add([]byte{3, 3, 3, 5, 5, 6, 6, 7, 7, 13, 14, 15, 21, 22, 23, 0, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, ops []byte) {
		a, err := New(Config{Chunks: 24})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		s := &simulation{t: t, a: a, rings: [2]uint32{a.Rings(), a.Rings()}, owner: map[uint32]int{}}
		for i := range s.pools {
			s.pools[i], _ = a.NewPool(12)
		}
		for _, op := range ops {
			s.step(op&7, int(op>>3)&1, int(op>>4))
			s.verify()
		}
	})
}

func (s *simulation) step(op byte, which, n int) {
	switch op {
	case 0: // reserve
		frames := make([]Frame, n%5)
		for _, f := range frames[:s.pools[which].Get(frames)] {
			s.own(f.chunk, 0, f)
		}
	case 1: // to the fill ring
		x, y := make([]uint64, n%3), make([]uint64, 2)
		for _, addr := range append(x, y...)[:s.pools[which].ToFill(s.rings[which], x, y)] {
			_ = addr
		}
		s.filled(which, x, y)
	case 2: // received
		if len(s.fill[which]) > 0 {
			f := []Frame{s.a.Decode(s.fill[which][0]+256, 64, false)}
			if k, err := s.a.Admit(s.rings[which], f); k != 1 || err != nil {
				s.t.Fatalf("the kernel's chunk is not admitted: %v", err)
			}
			s.fill[which] = s.fill[which][1:]
			s.own(f[0].chunk, 0, f[0])
		}
	case 3: // sent
		if f, ok := s.takeMine(n); ok {
			addr, err := s.a.Transmit(s.rings[which], f)
			if err != nil {
				s.t.Fatal(err)
			}
			s.owner[f.chunk] = 3 + which
			s.sent[which] = append(s.sent[which], addr)
		}
	case 4: // completed
		done := s.sent[which]
		if k, err := s.a.Completed(s.rings[which], done[:len(done)/2], done[len(done)/2:]); k != len(done) || err != nil {
			s.t.Fatal(k, err)
		}
		for _, addr := range done {
			delete(s.owner, uint32(addr>>s.a.shift))
		}
		s.sent[which] = nil
	case 5: // given back
		if f, ok := s.takeMine(n); ok {
			if k, err := s.a.Put([]Frame{f}); k != 1 || err != nil {
				s.t.Fatal(err)
			}
			delete(s.owner, f.chunk)
		}
	case 6: // given back to the fill ring
		if f, ok := s.takeMine(n); ok {
			x := make([]uint64, 1)
			filled, k, err := s.pools[which].Recycle(s.rings[which], []Frame{f}, x, nil)
			if k != 1 || err != nil {
				s.t.Fatal(err)
			}
			if delete(s.owner, f.chunk); filled == 1 {
				s.owner[f.chunk] = 1 + which
				s.fill[which] = append(s.fill[which], x[0])
			}
		}
	case 7: // misuse
		s.misuse(which, n)
	}
}

func (s *simulation) own(chunk uint32, who int, f Frame) {
	if old, taken := s.owner[chunk]; taken && old == who {
		s.t.Fatalf("chunk %d handed out twice", chunk)
	}
	s.owner[chunk] = who
	s.mine = append(s.mine, f)
}

// filled notes the addresses that ToFill wrote: those of the chunks that were free.
func (s *simulation) filled(which int, x, y []uint64) {
	for i, addr := range append(append([]uint64(nil), x...), y...) {
		chunk := uint32(addr >> s.a.shift)
		if word(s.a.words[chunk].Load()).owner() != fill || i >= len(x)+len(y) {
			continue
		}
		if _, taken := s.owner[chunk]; !taken {
			s.owner[chunk] = 1 + which
			s.fill[which] = append(s.fill[which], addr)
		}
	}
}

func (s *simulation) takeMine(n int) (Frame, bool) {
	if len(s.mine) == 0 {
		return Frame{}, false
	}
	i := n % len(s.mine)
	f := s.mine[i]
	s.mine = append(s.mine[:i], s.mine[i+1:]...)
	s.stale = append(s.stale, f)
	return f, true
}

func (s *simulation) misuse(which, n int) {
	if len(s.stale) == 0 {
		return
	}
	f := s.stale[n%len(s.stale)]
	if _, err := s.a.Put([]Frame{f}); err == nil {
		s.t.Fatalf("stale %v given back", f)
	}
	if _, err := s.a.Transmit(s.rings[which], f); err == nil {
		s.t.Fatalf("stale %v sent", f)
	}
	if _, err := s.a.Bytes(f); err == nil {
		s.t.Fatalf("stale %v read", f)
	}
	if k, err := s.a.Completed(s.rings[which], []uint64{uint64(f.chunk) << s.a.shift}, nil); err == nil && s.owner[f.chunk] != 3+which {
		s.t.Fatalf("completed %d chunks that were not sent", k)
	} else if err == nil {
		delete(s.owner, f.chunk)
		s.sent[which] = without(s.sent[which], f.chunk, s.a.shift)
	}
}

func without(addrs []uint64, chunk uint32, shift uint) (rest []uint64) {
	for _, a := range addrs {
		if uint32(a>>shift) != chunk {
			rest = append(rest, a)
		}
	}
	return rest
}

// verify compares the area's count with the model's.
func (s *simulation) verify() {
	check(s.t, s.a)
	var want Snapshot
	for _, who := range s.owner {
		switch who {
		case 1, 2:
			want.Fill++
		case 3, 4:
			want.Transmitting++
		}
	}
	want.Total, want.Free = 24, 24-len(s.owner)
	got := s.a.Snapshot()
	if got.Free != want.Free || got.Fill != want.Fill || got.Transmitting != want.Transmitting || got.Out() != len(s.mine) || got.Total != want.Total {
		s.t.Fatalf("%v, want %v with %d held", got, want, len(s.mine))
	}
}
