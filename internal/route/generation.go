// SPDX-License-Identifier: MIT

package route

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// generation is a number that changes, and a way to wait until it does.
type generation struct {
	// n is read for every datagram by every sender and written at changes only, so
	// it has a cache line to itself.
	_ cpu.CacheLinePad
	n atomic.Uint64
	_ cpu.CacheLinePad

	mu     sync.Mutex    // held while n is written, next too
	next   chan struct{} // closed at the next change; nil while nobody waits
	closed bool
}

func (g *generation) load() uint64 { return g.n.Load() }

// bump makes all answers so far old, and wakes those who wait.
func (g *generation) bump() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n.Add(1)
	g.wake()
}

// wake ends all waits. mu is held.
func (g *generation) wake() {
	if g.next != nil {
		close(g.next)
		g.next = nil
	}
}

// close ends all waits, now and for ever. Idempotent.
func (g *generation) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.wake()
}

// changed returns a channel that is closed once the generation is not old any more.
func (g *generation) changed(old uint64) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.n.Load() != old {
		now := make(chan struct{})
		close(now)
		return now
	}
	if g.next == nil {
		g.next = make(chan struct{})
	}
	return g.next
}

func (g *generation) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Generation returns a number that becomes another one at each change that may
// concern an answer. It is never 0, and one atomic load.
func (t *Table) Generation() uint64 { return t.gen.load() }

// Changed returns a channel that is closed as soon as the generation is not gen: at
// once if it is not now, and by Close. It is for those who wait for other things as
// well; it needs no giving back.
func (t *Table) Changed(gen uint64) <-chan struct{} { return t.gen.changed(gen) }

// WaitChange waits until the generation is not gen. Not every change concerns the
// caller: he resolves anew and waits again. The error is the context's, or
// net.ErrClosed.
func (t *Table) WaitChange(ctx context.Context, gen uint64) error {
	select {
	case <-t.gen.changed(gen):
		if t.gen.isClosed() {
			return fmt.Errorf("route: wait for change: %w", net.ErrClosed)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Invalidate makes all answers so far old, for a caller that knows of a change
// without notification: a socket that was told EMSGSIZE has learnt a path MTU.
func (t *Table) Invalidate() { t.gen.bump() }
