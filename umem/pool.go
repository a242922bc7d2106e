// SPDX-License-Identifier: MIT

package umem

import (
	"fmt"
	"slices"
	"sync"
)

// Pool is a range of an area's chunks and the list of those that are free. A
// frame always returns to the pool that its chunk is from, whoever gives it
// back.
//
// All methods may be called by any number of goroutines at once; the pool's lock
// is taken once a batch.
type Pool struct {
	area        *Area
	first, size int

	mu     sync.Mutex // guards what follows
	free   []uint32   // chunk numbers; the last given back is the first taken, being warm in the cache
	closed bool       // gives nothing any more, and its chunks to the area once all are back
}

// NewPool gives the next n chunks of the area that nobody has to a new pool.
func (a *Area) NewPool(n int) (*Pool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, err := a.take("pool", n)
	if err != nil {
		return nil, err
	}
	p := &Pool{area: a, first: first, size: n, free: make([]uint32, 0, n)}
	for i := first + n - 1; i >= first; i-- {
		a.homes[i] = p
		a.words[i].Store(makeWord(word(a.words[i].Load()).gen(), 0, free))
		p.free = append(p.free, uint32(i))
	}
	a.pools = append(slices.Clip(a.pools), p) // a snapshot may be reading the old one
	return p, nil
}

// Close gives the pool's chunks back to the area, for other pools and regions:
// at once if all are free, else when the last has returned, and the error, which
// satisfies errors.Is(err, [ErrFramesOut]), says how many are missing. A closed
// pool hands nothing out.
func (p *Pool) Close() error {
	p.mu.Lock()
	was, out := p.closed, p.size-len(p.free)
	p.closed = true
	p.mu.Unlock()
	if out > 0 {
		return fmt.Errorf("%w: %d of the pool's %d; its chunks return to the area with the last", ErrFramesOut, out, p.size)
	}
	if !was {
		p.area.dissolve(p)
	}
	return nil
}

// Area is the area that the pool's chunks are from.
func (p *Pool) Area() *Area { return p.area }

// Size is the number of the pool's chunks.
func (p *Pool) Size() int { return p.size }

// Free is the number of chunks that are free now.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

// Closed tells whether the pool or its area was closed: Get will give no frame
// any more.
func (p *Pool) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.area.gone.Load()
}

// Get reserves up to len(frames) chunks for the caller to write and returns how
// many. A reserved frame has no data yet and begins after the area's headroom, and
// no earlier than Config.TxMetadata bytes into its chunk: room for headers in
// front, see [Area.Shift]. It is the caller's until it is given back with
// [Area.Put] or sent. On a closed area there is none.
func (p *Pool) Get(frames []Frame) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(frames), len(p.free))
	if p.closed || p.area.gone.Load() { // asked under the lock, see Area.Close
		n = 0
	}
	for i := range n {
		c := p.pop()
		gen := word(p.area.words[c].Load()).gen()
		p.area.words[c].Store(makeWord(gen, 0, reserved))
		frames[i] = Frame{chunk: c, gen: gen, off: p.area.front, area: p.area.id}
	}
	return n
}

// pop takes the chunk that was given back last. The lock is held; there is one.
func (p *Pool) pop() uint32 {
	last := len(p.free) - 1
	c := p.free[last]
	p.free = p.free[:last]
	return c
}

// Put gives frames back, received or reserved, each to the pool that it is from.
// It returns how many were taken; those that are not the caller's are left alone
// and the first of them is the error. The others are given back all the same.
func (a *Area) Put(frames []Frame) (n int, err error) {
	var batch putter
	for _, f := range frames {
		if e := a.move(f, free, 0, f.gen+1); e != nil {
			if err == nil {
				err = e
			}
			continue
		}
		batch.put(a, f.chunk)
		n++
	}
	batch.done()
	if a.gone.Load() {
		a.release()
	}
	return n, err
}

// putter appends free chunks to their pools' lists, with a pool's lock taken
// once for each run of chunks of one pool.
type putter struct{ pool *Pool }

// put appends a chunk whose word says free already.
func (b *putter) put(a *Area, chunk uint32) {
	if home := a.homes[chunk]; home != b.pool {
		b.done()
		b.pool = home
		home.mu.Lock()
	}
	b.pool.free = append(b.pool.free, chunk)
}

func (b *putter) done() {
	p := b.pool
	if p == nil {
		return
	}
	b.pool = nil
	last := p.closed && len(p.free) == p.size
	p.mu.Unlock()
	if last {
		p.area.dissolve(p)
	}
}
