// SPDX-License-Identifier: MIT

package umem

import "testing"

// What a socket leaves in its TX ring comes back once: not what was completed
// meanwhile, nor another pair's, nor a chunk that is in transmission anew.
func TestRecall(t *testing.T) {
	const rings, other = 7, 8
	a, p := newArea(t, Config{Chunks: 8})
	frames := get(t, p, 4)
	addrs := make([]uint64, len(frames))
	for i, f := range frames {
		pair := uint32(rings)
		if i == 3 {
			pair = other
		}
		var err error
		if addrs[i], err = a.Transmit(pair, f.At(100, 64)); err != nil {
			t.Fatal(err)
		}
	}
	var unsent []Frame
	for i, addr := range append(addrs, 1<<40, uint64(a.ChunkSize()*7)) {
		f, ok := a.Unsent(rings, addr)
		if ok != (i < 3) {
			t.Errorf("address %d, %#x: %v", i, addr, ok)
		}
		if ok {
			unsent = append(unsent, f)
		}
	}
	if n, err := a.Completed(rings, addrs[:2], nil); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	again := get(t, p, 1)[0] // the chunk that was completed last
	if again.Chunk() != frames[1].Chunk() {
		t.Fatalf("chunk %d, want %d", again.Chunk(), frames[1].Chunk())
	}
	if _, err := a.Transmit(rings, again.WithLen(64)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n := a.Recall(rings, unsent); n != want {
			t.Errorf("%d came back, want %d", n, want)
		}
		check(t, a)
	}
	if s := a.Snapshot(); s.Transmitting != 2 || s.Free != 6 {
		t.Errorf("%v", s)
	}
	if a.InUse() {
		t.Error("in use without a socket")
	}
	a.Reclaim(rings)
	a.Reclaim(other)
}
