// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"sync"
)

// ErrNoBuffers is what Receive returns while all buffers are held, by whichever
// goroutines: Release some, or open the lane with more of them. Datagrams wait in
// the socket meanwhile, which stays readable.
var ErrNoBuffers = errors.New("lane: all receive buffers are held: release messages, or raise Config.Buffers")

// buffer holds what one read of the kernel brought: a datagram, or a bundle of
// them that is cut into pieces. It is in the pool, in the hands of Receive, or out:
// then each piece that was not released yet has a bit set in out.
type buffer struct {
	data []byte
	gen  uint32   // counts how often it was taken from the pool
	out  []uint64 // a bit for each piece
	left int      // bits set in out

	// Receive's own, until the last piece is handed out:

	msg    Message // all pieces have this in common
	length int     // bytes received into data
	size   int     // bytes a piece; the last one may be shorter
	pieces int
	next   int // piece to hand out
}

// fill notes what was read: total bytes, of which data may hold fewer, as
// datagrams of size bytes each; size 0 is one datagram. It returns how many
// datagrams were cut or lost.
func (b *buffer) fill(total, size int) (truncated int) {
	if size <= 0 || size > total {
		size = total
	}
	b.length, b.size, b.next = min(total, len(b.data)), size, 0
	b.pieces = pieces(b.length, size)
	if total > b.length {
		whole := b.length / size
		truncated = pieces(total, size) - whole
		b.msg.Truncated = b.pieces > whole
	}
	b.left = b.pieces
	for len(b.out)*64 < b.pieces {
		b.out = append(b.out, 0)
	}
	for i := range b.out {
		b.out[i] = ones(b.pieces - 64*i)
	}
	return truncated
}

// ones has the lowest n bits set.
func ones(n int) uint64 {
	if n <= 0 {
		return 0
	}
	return ^uint64(0) >> (64 - min(n, 64))
}

// pieces is how many datagrams of size bytes make length, the last being shorter;
// at least one, which may be empty.
func pieces(length, size int) int {
	if length <= size {
		return 1
	}
	return (length + size - 1) / size
}

// take hands out the next piece. The caller has seen that there is one.
func (b *buffer) take() Message {
	m := b.msg
	start := b.next * b.size
	end := min(start+b.size, b.length)
	m.Payload = b.data[start:end:end]
	m.buf, m.gen, m.piece = b, b.gen, b.next
	b.next++
	if b.next < b.pieces {
		m.Truncated = false // only the last one can be
	}
	return m
}

// pool owns the free buffers. Its methods may be called by any goroutine.
type pool struct {
	mu   sync.Mutex
	free []*buffer
	bad  uint64 // releases of what was not out
}

// newPool makes count buffers of size bytes in one piece of memory. They lie a
// cache line more than size apart: at a distance of 65,536 bytes the beginnings of
// all of them would share one set of the CPU's cache.
func newPool(count, size int) *pool {
	const line = 64
	stride := (size+line-1)/line*line + line
	mem := make([]byte, count*stride)
	p := &pool{free: make([]*buffer, count)}
	for i := range p.free {
		start := i * stride
		p.free[i] = &buffer{data: mem[start : start+size : start+size], out: make([]uint64, 2)}
	}
	return p
}

// take fills dst with free buffers and returns how many there were. What was
// released last comes first: its memory is warm.
func (p *pool) take(dst []*buffer) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(dst), len(p.free))
	for i := range dst[:n] {
		last := len(p.free) - 1
		dst[i] = p.free[last]
		dst[i].gen++
		p.free = p.free[:last]
	}
	return n
}

// put takes back buffers that nothing was received into.
func (p *pool) put(bufs []*buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// From the end, so that take gives them out in the same order again.
	for i := len(bufs) - 1; i >= 0; i-- {
		p.free = append(p.free, bufs[i])
	}
}

// release takes back messages. A buffer is free when all its pieces are back.
func (p *pool) release(msgs []Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range msgs {
		m := &msgs[i]
		if b := m.buf; b != nil {
			if !b.giveBack(m.gen, m.piece) {
				p.bad++
			} else if b.left == 0 {
				p.free = append(p.free, b)
			}
		}
		*m = Message{}
	}
}

// giveBack marks one piece as back. It is false for one that was back already.
func (b *buffer) giveBack(gen uint32, piece int) bool {
	bit := uint64(1) << (piece % 64)
	if gen != b.gen || b.left == 0 || b.out[piece/64]&bit == 0 {
		return false
	}
	b.out[piece/64] &^= bit
	b.left--
	return true
}

func (p *pool) badReleases() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bad
}
