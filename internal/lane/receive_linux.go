// SPDX-License-Identifier: MIT

package lane

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// receiver is the receiving half of a lane. What a read brought goes through
// pending, so that a bundle can be handed out in more than one call.
type receiver struct {
	mu      sync.Mutex // guards all but left
	batch   batch
	taken   []*buffer // of the pool, for one read
	pending []*buffer // read; the first next of them are handed out wholly
	next    int
	left    atomic.Int32 // datagrams in pending
	zones   zones
	port    uint16 // the socket's
}

func (r *receiver) init(n int, port uint16) {
	r.batch = newBatch(n, receiveRoom())
	r.taken = make([]*buffer, n)
	r.pending = make([]*buffer, 0, n)
	r.port = port
}

// Receive takes up to len(dst) datagrams that have arrived and never waits: (0,
// nil) is none. The messages are the caller's until Release. The error is about
// the socket and comes with 0: net.ErrClosed, ErrNoBuffers, or the bare errno,
// which on a lane with a Remote may be that of an ICMP message.
//
// Call it until it returns 0 before waiting for FD, or see Pending.
func (l *Lane) Receive(dst []Message) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	r := &l.in
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.fd < 0 {
		return 0, net.ErrClosed
	}
	if r.next == len(r.pending) {
		if err := l.read(len(dst)); err != nil {
			return 0, err
		}
	}
	n, bytes := r.handOut(dst)
	l.count.received.Add(uint64(n))
	l.count.receivedBytes.Add(uint64(bytes))
	return n, nil
}

// Pending is how many datagrams of bundles wait in the lane for the next Receive.
// The descriptor is not readable for them: whoever is left with some after a
// Receive wakes the others who wait for the descriptor, or calls again.
func (l *Lane) Pending() int { return int(l.in.left.Load()) }

// read reads from the socket into pending, of which nothing is left.
func (l *Lane) read(want int) error {
	r := &l.in
	bufs := r.taken[:l.pool.take(r.taken[:min(want, len(r.taken))])]
	if len(bufs) == 0 {
		l.count.noBuffers.Add(1)
		return ErrNoBuffers
	}
	for i, b := range bufs {
		r.batch.lend(i, b.data)
		r.batch.setName(i, nameRoom)
		r.batch.setControl(i, r.batch.room)
	}
	n, err := recvmmsg(l.fd, r.batch.hdrs[:len(bufs)])
	r.pending, r.next = r.pending[:0], 0
	left := 0
	for i, b := range bufs[:n] {
		l.describe(i, b)
		left += b.pieces
		r.pending = append(r.pending, b)
	}
	l.pool.put(bufs[n:])
	r.left.Store(int32(left))
	if err == unix.EAGAIN {
		return nil
	}
	if err != nil {
		l.count.receiveErrors.Add(1)
	}
	return err
}

// describe notes in b what the kernel said about message i of the batch.
func (l *Lane) describe(i int, b *buffer) {
	r := &l.in
	m := parseControl(r.batch.gotControl(i))
	src, scope := parseAddr(r.batch.gotName(i))
	if scope != 0 {
		src = netip.AddrPortFrom(r.zones.with(l.fd, src.Addr(), scope), src.Port())
	}
	if m.dst.IsLinkLocalUnicast() && m.dst.Is6() {
		m.dst = r.zones.with(l.fd, m.dst, m.ifindex)
	}
	b.msg = Message{
		Src:      src,
		Dst:      netip.AddrPortFrom(m.dst, r.port),
		Ifindex:  int(m.ifindex),
		TTL:      m.ttl,
		TOS:      m.tos,
		Received: m.received,
	}
	if truncated := b.fill(int(r.batch.hdrs[i].Len), m.segment); truncated > 0 {
		l.count.truncated.Add(uint64(truncated))
	}
	if b.pieces > 1 {
		l.count.bundles.Add(1)
	}
	if m.drops != 0 {
		l.drops.observe(m.drops)
	}
}

// handOut moves datagrams from pending to dst.
func (r *receiver) handOut(dst []Message) (n, bytes int) {
	for n < len(dst) && r.next < len(r.pending) {
		b := r.pending[r.next]
		dst[n] = b.take()
		bytes += len(dst[n].Payload)
		n++
		if b.next == b.pieces {
			r.next++
		}
	}
	r.left.Add(int32(-n))
	return n, bytes
}

// drop forgets what was read and not handed out. The lane is closed: the buffers
// are not needed again.
func (r *receiver) drop() {
	r.pending, r.next = nil, 0
	r.left.Store(0)
}
