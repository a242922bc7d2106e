// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/umem"
)

// pair is the fill and the completion ring of one queue, with the pool that
// feeds it. Sockets that share the queue share the pair; the last one out
// reclaims what the kernel held.
type pair struct {
	id       uint32 // the pair's number in its area
	doneSize uint32 // entries of the completion ring
	area     *umem.Area
	pool     *umem.Pool

	fillMu sync.Mutex // guards what follows
	fill   *ring.Producer[uint64]
	want   atomic.Bool // somebody asked for a refill while another held the lock

	doneMu    sync.Mutex // guards what follows
	done      *ring.Consumer[uint64]
	completed uint64
	invalid   uint64

	usersMu   sync.Mutex // guards what follows
	users     int
	unmap     func() error
	closePool func() error
}

// newPair makes a pair with one user.
func newPair(area *umem.Area, pool *umem.Pool, fill *ring.Producer[uint64], done *ring.Consumer[uint64]) *pair {
	none := func() error { return nil }
	return &pair{
		id: area.Rings(), area: area, pool: pool, doneSize: done.Size(), fill: fill, done: done,
		users: 1, unmap: none, closePool: none,
	}
}

// refill moves free chunks of the pool into the fill ring. Whoever holds the
// lock does it for those who found it taken, so nobody waits and no wish is
// lost.
func (p *pair) refill() (wakeup bool) {
	p.want.Store(true)
	for p.want.Load() && p.fillMu.TryLock() {
		p.want.Store(false)
		wakeup = p.top() || wakeup
		p.fillMu.Unlock()
	}
	return wakeup
}

// top fills the fill ring as far as there are chunks and room. The lock is held.
func (p *pair) top() (wakeup bool) {
	if p.fill == nil {
		return false
	}
	n := uint32(min(p.pool.Free(), int(p.fill.Size())))
	if n == 0 {
		return false
	}
	n = min(n, p.fill.Free(n))
	x, y, ok := p.fill.Reserve(n)
	if !ok || n == 0 {
		return false
	}
	got := uint32(p.pool.ToFill(p.id, x, y))
	p.fill.Cancel(n - got)
	p.fill.Submit(got)
	return got > 0 && p.fill.NeedWakeup()
}

// release gives the user's frames back, those of the pool straight into the fill
// ring.
func (p *pair) release(frames []umem.Frame) (wakeup bool, err error) {
	p.fillMu.Lock()
	if p.fill == nil {
		p.fillMu.Unlock()
		_, err = p.area.Put(frames)
		return false, err
	}
	want := uint32(len(frames))
	room := min(want, p.fill.Free(want))
	x, y, _ := p.fill.Reserve(room)
	filled, _, err := p.pool.Recycle(p.id, frames, x, y)
	p.fill.Cancel(room - uint32(filled))
	if filled > 0 {
		p.fill.Submit(uint32(filled))
		wakeup = p.fill.NeedWakeup()
	}
	p.fillMu.Unlock()
	// Another's wish that came while the lock was taken.
	if p.want.Load() {
		wakeup = p.refill() || wakeup
	}
	return wakeup, err
}

// reap takes up to limit completions and puts their chunks back on their pools'
// lists. Chunks of the fill ring's pool (a frame that was received and sent on)
// go on into the fill ring.
func (p *pair) reap(limit uint32) (n int) {
	p.doneMu.Lock()
	if p.done == nil {
		p.doneMu.Unlock()
		return 0
	}
	x, y := p.done.Peek(limit)
	if taken := len(x) + len(y); taken > 0 {
		var err error
		n, err = p.area.Completed(p.id, x, y)
		if err != nil {
			p.invalid += uint64(taken - n)
		}
		p.done.Release(uint32(taken))
		p.completed += uint64(n)
	}
	p.doneMu.Unlock()
	return n
}

// join adds a socket to the pair; false means that its last one has left.
func (p *pair) join() bool {
	p.usersMu.Lock()
	defer p.usersMu.Unlock()
	if p.users == 0 {
		return false
	}
	p.users++
	return true
}

// leave takes a socket off the pair, and the rings away with the last. To be
// called after the socket's descriptor was closed, so that the kernel has let go
// of the chunks.
func (p *pair) leave() error {
	p.usersMu.Lock()
	defer p.usersMu.Unlock()
	if p.users--; p.users > 0 {
		return nil
	}
	p.fillMu.Lock()
	p.fill = nil
	p.fillMu.Unlock()
	p.doneMu.Lock()
	p.done = nil
	p.doneMu.Unlock()
	err := p.unmap()
	p.area.Reclaim(p.id)
	return errors.Join(err, p.closePool())
}
