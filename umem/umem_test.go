// SPDX-License-Identifier: MIT

package umem

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// newArea makes an area of one pool, and closes it after the test.
func newArea(t testing.TB, cfg Config) (*Area, *Pool) {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.NewPool(a.Info().Chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		check(t, a)
		a.Close()
	})
	return a, p
}

func check(t testing.TB, a *Area) {
	t.Helper()
	if s := a.Snapshot(); s.Sum() != s.Total {
		t.Errorf("not conserved: %v", s)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

func get(t testing.TB, p *Pool, n int) []Frame {
	t.Helper()
	frames := make([]Frame, n)
	if got := p.Get(frames); got != n {
		t.Fatalf("got %d of %d frames", got, n)
	}
	return frames
}

func TestBytes(t *testing.T) {
	a, p := newArea(t, Config{Chunks: 4, Headroom: 128})
	f := get(t, p, 1)[0]
	b, err := a.Bytes(f)
	if err != nil || len(b) != 0 || cap(b) != 2048-128 {
		t.Fatalf("fresh frame: %d bytes, room for %d, %v", len(b), cap(b), err)
	}
	copy(b[:5], "hello")
	f = f.WithLen(5)
	if b, err = a.Bytes(f); err != nil || string(b) != "hello" {
		t.Fatalf("%q %v", b, err)
	}
	// Appending beyond the chunk copies instead of writing into a neighbour.
	b = append(b, make([]byte, 2048)...)
	b[0] = 'j'
	if b, _ := a.Bytes(f); string(b) != "hello" {
		t.Error("append wrote into the area")
	}
	f, err = a.Shift(f, -128)
	if b, _ := a.Bytes(f); err != nil || len(b) != 133 || string(b[128:]) != "hello" {
		t.Errorf("with room in front: %d bytes, %v", len(b), err)
	}
	if _, err := a.Shift(f, -1); !errors.Is(err, ErrFrame) {
		t.Errorf("began before its chunk: %v", err)
	}
	if _, err := a.Shift(f, 134); !errors.Is(err, ErrFrame) {
		t.Errorf("began beyond its end: %v", err)
	}
	if _, err := a.Bytes(f.WithLen(2049)); !errors.Is(err, ErrFrame) {
		t.Errorf("reached beyond its chunk: %v", err)
	}
}

// Every misuse of a frame is an error that names it, and changes nothing.
func TestMisuse(t *testing.T) {
	a, p := newArea(t, Config{Chunks: 8})
	other, q := newArea(t, Config{Chunks: 8})
	f := get(t, p, 1)[0]
	foreign := get(t, q, 1)[0]
	fresh := get(t, p, 1)[0]
	if n, err := a.Put([]Frame{f, fresh}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	reused := get(t, p, 2) // the chunks of f and fresh again
	for name, f := range map[string]Frame{
		"given back":       f,
		"another area's":   foreign,
		"zero":             {},
		"beyond the end":   {chunk: 1 << 30, area: a.id},
		"never handed out": {chunk: 7, gen: 1, area: a.id},
	} {
		t.Run(name, func(t *testing.T) {
			before := a.Snapshot()
			for step, err := range map[string]error{
				"put":      second(a.Put([]Frame{f})),
				"bytes":    second(a.Bytes(f)),
				"transmit": second(a.Transmit(1, f)),
			} {
				var fe *FrameError
				if !errors.Is(err, ErrFrame) || !errors.As(err, &fe) || fe.Frame != f {
					t.Errorf("%s: %v", step, err)
				} else if !strings.Contains(err.Error(), "chunk") {
					t.Errorf("%s does not name the frame: %v", step, err)
				}
			}
			if after := a.Snapshot(); after != before {
				t.Errorf("misuse moved a chunk: %v, before %v", after, before)
			}
			check(t, a)
		})
	}
	if n, err := a.Put(append(reused, f)); n != 2 || !errors.Is(err, ErrFrame) {
		t.Errorf("a bad frame kept good ones from being given back: %d %v", n, err)
	}
	other.Put([]Frame{foreign})
}

func second[T any](_ T, err error) error { return err }

// Many goroutines give the same frame back: one succeeds.
func TestConcurrentDoublePut(t *testing.T) {
	a, p := newArea(t, Config{Chunks: 64})
	for range 500 {
		f := get(t, p, 1)
		done := make(chan int)
		for range 4 {
			go func() {
				n, _ := a.Put([]Frame{f[0]})
				done <- n
			}()
		}
		sum := 0
		for range 4 {
			sum += <-done
		}
		if sum != 1 {
			t.Fatalf("given back %d times", sum)
		}
	}
}

func TestPoolsAndRegions(t *testing.T) {
	a, err := New(Config{Chunks: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p, _ := a.NewPool(4)
	r, err := a.NewRegion(3*2048 + 1)
	if err != nil || len(r.Bytes()) != 3*2048+1 || r.Offset() != 4*2048 {
		t.Fatalf("region of %d bytes at %d: %v", len(r.Bytes()), r.Offset(), err)
	}
	q, err := a.NewPool(8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.NewPool(1); err == nil {
		t.Error("more chunks than there are")
	}
	for _, n := range []int{0, -1, 17} {
		if _, err := a.NewPool(n); err == nil {
			t.Errorf("pool of %d", n)
		}
		if _, err := a.NewRegion(n * 2048); err == nil {
			t.Errorf("region of %d chunks", n)
		}
	}
	// Frames return to the pool that they are from, in whatever company.
	mixed := append(get(t, p, 4), get(t, q, 8)...)
	mixed[0], mixed[7], mixed[2], mixed[11] = mixed[7], mixed[0], mixed[11], mixed[2]
	if n, err := a.Put(mixed); n != 12 || err != nil {
		t.Fatal(n, err)
	}
	if p.Free() != 4 || q.Free() != 8 {
		t.Errorf("%d and %d free", p.Free(), q.Free())
	}
	// A region's bytes and a pool's frames do not overlap.
	for i := range r.Bytes() {
		r.Bytes()[i] = 0xee
	}
	for _, f := range append(get(t, p, 4), get(t, q, 8)...) {
		b, _ := a.Bytes(f.WithLen(2048))
		if b[0] != 0 || b[2047] != 0 {
			t.Errorf("%v overlaps the region", f)
		}
		defer a.Put([]Frame{f})
	}
	check(t, a)
}

// A closed pool's chunks return to the area with the last frame, and serve a
// new pool; its old frames do not come alive again.
func TestPoolClose(t *testing.T) {
	a, p := newArea(t, Config{Chunks: 8})
	frames := get(t, p, 3)
	if err := p.Close(); !errors.Is(err, ErrFramesOut) {
		t.Fatal(err)
	}
	if n := p.Get(make([]Frame, 1)); n != 0 {
		t.Error("a closed pool hands out frames")
	}
	if _, err := a.NewPool(1); err == nil {
		t.Error("chunks returned while frames were out")
	}
	a.Put(frames)
	for range 100 {
		q, err := a.NewPool(5)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.NewPool(3)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(q.Close(), r.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	q, err := a.NewPool(8)
	if err != nil {
		t.Fatal(err)
	}
	get(t, q, 8)
	if _, err := a.Bytes(frames[0]); !errors.Is(err, ErrFrame) {
		t.Errorf("a frame of the old pool came alive: %v", err)
	}
}

// Case 104: views stay valid until the frames have returned.
func TestCloseWithFramesOut(t *testing.T) {
	a, err := New(Config{Chunks: 8})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := a.NewPool(8)
	frames := get(t, p, 2)
	b, _ := a.Bytes(frames[0].WithLen(8))
	if err := a.Close(); !errors.Is(err, ErrFramesOut) || !strings.Contains(err.Error(), "2 frames") {
		t.Fatalf("close with 2 frames out: %v", err)
	}
	b[0] = 1 // would fault, were it unmapped
	if p.Get(make([]Frame, 1)) != 0 {
		t.Error("a closed area hands out frames")
	}
	if _, err := a.NewPool(1); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if n, err := a.Put(frames); n != 2 || err != nil {
		t.Error(n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if a.unmap != nil {
		t.Error("still mapped")
	}
	if _, err := a.Bytes(frames[0]); !errors.Is(err, ErrFrame) {
		t.Error("a view into unmapped memory")
	}
}
