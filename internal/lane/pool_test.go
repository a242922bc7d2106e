// SPDX-License-Identifier: MIT

package lane

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

// one takes a single buffer and lets total bytes be received into it.
func one(t *testing.T, p *pool, total, size int) (*buffer, int) {
	t.Helper()
	bufs := make([]*buffer, 1)
	if p.take(bufs) != 1 {
		t.Fatal("no free buffer")
	}
	b := bufs[0]
	b.msg = Message{}
	return b, b.fill(total, size)
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name              string
		total, size, room int
		lengths           []int
		truncated         int
		lastCut           bool
	}{
		{"one datagram", 100, 0, 1000, []int{100}, 0, false},
		{"empty", 0, 0, 1000, []int{0}, 0, false},
		{"empty with a segment size", 0, 100, 1000, []int{0}, 0, false},
		{"bundle of one", 100, 100, 1000, []int{100}, 0, false},
		{"segment larger than the datagram", 99, 100, 1000, []int{99}, 0, false},
		{"exact multiple", 300, 100, 1000, []int{100, 100, 100}, 0, false},
		{"short last", 3001, 1000, 4000, []int{1000, 1000, 1000, 1}, 0, false},
		{"one-byte datagrams", 3, 1, 1000, []int{1, 1, 1}, 0, false},
		{"negative segment size", 100, -1, 1000, []int{100}, 0, false},
		{"one datagram cut", 101, 0, 100, []int{100}, 1, true},
		// Case 121: 10 datagrams of 1000 into 2048 bytes.
		{"bundle cut in a datagram", 10000, 1000, 2048, []int{1000, 1000, 48}, 8, true},
		{"bundle cut between datagrams", 10000, 1000, 2000, []int{1000, 1000}, 8, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, truncated := one(t, newPool(1, c.room), c.total, c.size)
			if truncated != c.truncated {
				t.Errorf("%d truncated, want %d", truncated, c.truncated)
			}
			offset := 0
			for i := range b.data {
				b.data[i] = byte(i)
			}
			for i, want := range c.lengths {
				m := b.take()
				if len(m.Payload) != want || m.Payload == nil || cap(m.Payload) != want {
					t.Errorf("datagram %d: length %d, capacity %d, want %d", i, len(m.Payload), cap(m.Payload), want)
				}
				if !bytes.Equal(m.Payload, b.data[offset:offset+want]) {
					t.Errorf("datagram %d: other bytes", i)
				}
				if last := i == len(c.lengths)-1; m.Truncated != (last && c.lastCut) {
					t.Errorf("datagram %d: truncated %t", i, m.Truncated)
				}
				offset += want
			}
			if b.next != b.pieces {
				t.Errorf("%d of %d datagrams handed out", b.next, b.pieces)
			}
		})
	}
}

// A bundle's buffer is free when its last datagram is back, in any order, and
// nothing that is not out is taken back.
func TestReleaseExactly(t *testing.T) {
	const bundle = 300 // more than fit into the bits of a fresh buffer
	p := newPool(1, bundle)
	for round := range 3 {
		b, _ := one(t, p, bundle, 1)
		msgs := make([]Message, bundle)
		for i := range msgs {
			msgs[i] = b.take()
		}
		rand.Shuffle(bundle, func(i, j int) { msgs[i], msgs[j] = msgs[j], msgs[i] })
		copies := append([]Message(nil), msgs...)
		p.release(msgs[:bundle-1])
		p.release(copies[:bundle-1]) // all of them are back already
		p.release(msgs[:bundle-1])   // cleared
		if len(p.free) != 0 {
			t.Fatal("free while one datagram is out")
		}
		p.release(msgs[bundle-1:])
		if len(p.free) != 1 {
			t.Fatal("not free with all datagrams back")
		}
		p.release(copies[bundle-1:])
		if got, want := p.badReleases(), uint64((round+1)*bundle); got != want {
			t.Errorf("%d bad releases, want %d", got, want)
		}
		if len(p.free) != 1 {
			t.Fatalf("%d buffers free of 1", len(p.free))
		}
	}
}

// A message kept from a buffer's earlier life does not give back the later one.
func TestReleaseStale(t *testing.T) {
	p := newPool(1, 10)
	b, _ := one(t, p, 10, 0)
	old := b.take()
	p.release([]Message{old})
	b, _ = one(t, p, 10, 0)
	now := []Message{b.take()}
	p.release([]Message{old})
	if len(p.free) != 0 || p.badReleases() != 1 {
		t.Errorf("%d free, %d bad releases", len(p.free), p.badReleases())
	}
	p.release(now)
	if len(p.free) != 1 {
		t.Error("not free")
	}
}

func TestTakeAndPut(t *testing.T) {
	p := newPool(3, 1)
	bufs := make([]*buffer, 5)
	if n := p.take(bufs); n != 3 {
		t.Fatalf("took %d of 3", n)
	}
	first := append([]*buffer(nil), bufs[:3]...)
	p.put(bufs[:3])
	if n := p.take(bufs[:2]); n != 2 || bufs[0] != first[0] || bufs[1] != first[1] {
		t.Error("not in the order that they were in")
	}
}

// One goroutine receives, many release: each byte pattern is intact while it is
// out, and at the end all buffers are back.
func TestPoolConcurrent(t *testing.T) {
	const buffers, size, rounds = 8, 64, 3000
	p := newPool(buffers, size)
	out := make(chan []Message)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for msgs := range out {
				for _, m := range msgs {
					if m.Payload[0] != m.Payload[len(m.Payload)-1] {
						t.Errorf("payload % x", m.Payload)
					}
				}
				p.release(msgs)
			}
		})
	}
	taken := make([]*buffer, 2)
	for round := range rounds {
		for _, b := range taken[:p.take(taken)] {
			b.msg = Message{}
			for i := range b.data {
				b.data[i] = byte(round)
			}
			b.fill(size, 16)
			for b.next < b.pieces {
				out <- []Message{b.take()}
			}
		}
	}
	close(out)
	wg.Wait()
	if len(p.free) != buffers || p.badReleases() != 0 {
		t.Errorf("%d buffers free of %d, %d bad releases", len(p.free), buffers, p.badReleases())
	}
}

// The kernel's 32-bit count goes on past its wrap, and an older reading is passed
// over.
func TestDropCount(t *testing.T) {
	var d dropCount
	for _, c := range []struct {
		reading uint32
		want    uint64
	}{{0, 0}, {5, 5}, {3, 5}, {5, 5}, {1 << 31, 1 << 31}, {1<<32 - 1, 1<<32 - 1}, {2, 1<<32 + 2}, {1<<32 - 1, 1<<32 + 2}} {
		if d.observe(c.reading); d.total.Load() != c.want {
			t.Errorf("reading %d: %d, want %d", c.reading, d.total.Load(), c.want)
		}
	}
}
