// SPDX-License-Identifier: MIT

package umem

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
)

// small is an area of n chunks without a pool.
func small(t *testing.T, n int) *Area {
	t.Helper()
	a, p := newArea(t, Config{Chunks: n})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return a
}

// Frames that are being reserved while the area is closed are out, and keep their
// memory: writing them does not fault.
func TestGetWhileClosing(t *testing.T) {
	for range 200 {
		a, pool := newArea(t, Config{Chunks: 16})
		var users sync.WaitGroup
		for range 2 {
			users.Go(func() {
				frames := make([]Frame, 4)
				for n := -1; n != 0; {
					n = pool.Get(frames)
					for _, f := range frames[:n] {
						b, err := a.Bytes(f)
						if err != nil {
							t.Error(err)
							return
						}
						b[:1][0]++
					}
					if _, err := a.Put(frames[:n]); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		runtime.Gosched()
		if err := a.Close(); err != nil && !errors.Is(err, ErrFramesOut) {
			t.Error(err)
		}
		users.Wait()
		if err := a.Close(); err != nil {
			t.Errorf("when all frames are back: %v", err)
		}
		if !pool.Closed() {
			t.Error("the pool of a closed area is open")
		}
	}
}

// A pool that was closed gives the kernel nothing: its chunks may be another's.
func TestClosedPoolFillsNothing(t *testing.T) {
	a := small(t, 8)
	p, err := a.NewPool(8)
	if err != nil {
		t.Fatal(err)
	}
	frames := get(t, p, 4)
	if err := p.Close(); !errors.Is(err, ErrFramesOut) {
		t.Error(err)
	}
	addrs := make([]uint64, 8)
	if n := p.ToFill(a.Rings(), addrs, nil); n != 0 {
		t.Errorf("a closed pool filled %d", n)
	}
	if n, err := a.Put(frames); n != 4 || err != nil {
		t.Error(n, err)
	}
	next, err := a.NewPool(8)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.ToFill(a.Rings(), addrs, nil); n != 0 {
		t.Errorf("a dissolved pool filled %d", n)
	}
	if n := next.ToFill(a.Rings(), addrs, nil); n != 8 {
		t.Errorf("filled %d", n)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

// An area that goes with its last socket goes with no other.
func TestCloseWithLast(t *testing.T) {
	a := small(t, 8)
	a.CloseWithLast()
	for fd := range 2 {
		err := a.Attach(func(_ []byte, members []Member) (Member, error) {
			if len(members) != fd {
				t.Errorf("%d sockets, want %d", len(members), fd)
			}
			return Member{FD: fd}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	nothing := func() error { return nil }
	for fd := range 2 {
		if err := errors.Join(a.CloseUnused(), a.Detach(fd, nothing)); err != nil {
			t.Error(err)
		}
	}
	if p, err := a.NewPool(1); err != nil {
		t.Errorf("closed before it was asked to be: %v", err)
	} else if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := a.CloseUnused(); err != nil {
		t.Error(err)
	}
	if _, err := a.NewPool(1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("not closed with its last socket: %v", err)
	}
}
