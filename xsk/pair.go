// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/umem"
)

// pair is the fill and the completion ring of one queue, with the pool that
// feeds it. Sockets that share the queue share the pair; the last one out
// reclaims what the kernel held.
//
// The rings are mapped through the descriptor of one of the sockets.
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
	track     tracker

	usersMu   sync.Mutex // guards what follows; taken before the others
	users     []int      // descriptors of the sockets
	ended     bool       // the last has left
	mapped    int        // the descriptor that the rings are mapped through
	remap     func(fd int) (mapping, error)
	unmap     func() error
	closePool func() error
}

// mapping is the two rings of a pair as one socket's descriptor shows them.
type mapping struct {
	fill  *ring.Producer[uint64]
	done  *ring.Consumer[uint64]
	unmap func() error
}

// newPair makes a pair over the rings of the socket fd.
func newPair(area *umem.Area, pool *umem.Pool, fd int, m mapping) *pair {
	return &pair{
		id: area.Rings(), area: area, pool: pool, doneSize: m.done.Size(), fill: m.fill, done: m.done,
		users: []int{fd}, mapped: fd, unmap: m.unmap, closePool: func() error { return nil },
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
	if n > 0 {
		n = min(n, p.fill.Free(n))
	}
	if x, y, ok := p.fill.Reserve(n); ok && n > 0 {
		got := uint32(p.pool.ToFill(p.id, x, y))
		p.fill.Cancel(n - got)
		p.fill.Submit(got)
	}
	return p.asks()
}

// asks tells whether the driver wants to be told of the chunks in the fill ring.
// It may have asked after the last of them were put there and its look at the
// flag was over. The lock is held.
func (p *pair) asks() bool { return p.fill.NeedWakeup() && p.fill.Pending() > 0 }

// hungry is asks for who holds no lock; false when somebody else is at the ring.
func (p *pair) hungry() bool {
	if !p.fillMu.TryLock() {
		return false
	}
	defer p.fillMu.Unlock()
	return p.fill != nil && p.asks()
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
		if p.track.flying > 0 {
			for _, addr := range x {
				p.track.completed(addr)
			}
			for _, addr := range y {
				p.track.completed(addr)
			}
		}
		p.done.Release(uint32(taken))
		p.completed += uint64(n)
	}
	p.doneMu.Unlock()
	return n
}

// An unsent is a descriptor that a socket left in its TX ring.
type unsent struct {
	frame umem.Frame
	addr  uint64
	ours  bool // of a pool, in transmission; else a region's
	more  bool // its packet goes on
}

// recall takes back what a socket that was closed left in its TX ring.
func (p *pair) recall(left []unsent) {
	p.reap(p.doneSize) // of these too, perhaps: the kernel may say late what it took
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	back, first := true, true // whether the packet is
	for _, u := range left {
		if u.ours {
			back = p.area.Recall(p.id, []umem.Frame{u.frame}) == 1
		} else if first {
			back = true
		}
		if back { // a region's bytes with the frame that their packet began with
			p.track.completed(u.addr)
		}
		first = !u.more
	}
}

// join adds a socket to the pair; false means that its last one has left.
func (p *pair) join(fd int) bool {
	p.usersMu.Lock()
	defer p.usersMu.Unlock()
	if !p.ended {
		p.users = append(p.users, fd)
	}
	return !p.ended
}

// leave takes a socket off the pair, before its descriptor is closed, and tells
// whether it was the last: end must follow then.
func (p *pair) leave(fd int) (last bool, err error) {
	p.usersMu.Lock()
	defer p.usersMu.Unlock()
	p.users = slices.DeleteFunc(p.users, func(u int) bool { return u == fd })
	if p.ended = len(p.users) == 0; !p.ended && p.mapped == fd {
		err = p.move(p.users[0])
	}
	return p.ended, err
}

// move maps the rings through another socket. A mapping holds the socket that it
// was made through: closed but for that, it would stay in the queue map and take
// packets that nobody reads.
func (p *pair) move(fd int) error {
	p.fillMu.Lock()
	defer p.fillMu.Unlock()
	p.doneMu.Lock()
	defer p.doneMu.Unlock()
	m, err := p.remap(fd) // under the locks: it goes on from where the indexes stand
	if errors.Is(err, syscall.EBUSY) {
		return nil // before Linux 6.4 a bound socket maps nothing; see Config.Share
	}
	if err != nil {
		return err
	}
	unmap := p.unmap
	p.fill, p.done, p.mapped, p.unmap = m.fill, m.done, fd, m.unmap
	return unmap()
}

// end takes the rings away after the last socket's descriptor was closed, so that
// the kernel has let go of the chunks.
func (p *pair) end() error {
	p.fillMu.Lock()
	p.fill = nil
	p.fillMu.Unlock()
	p.doneMu.Lock()
	p.done = nil
	p.track.end()
	p.doneMu.Unlock()
	err := p.unmap()
	p.area.Reclaim(p.id)
	return errors.Join(err, p.closePool())
}
