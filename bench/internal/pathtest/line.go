// SPDX-License-Identifier: MIT

package pathtest

import (
	"errors"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
)

// A Line carries datagrams to and fro between two peers. Set the fields, which are
// of one direction each, before the ends are used, or under Set.
type Line struct {
	Size              int
	Requests, Answers Faults
	Mode              string

	mu     sync.Mutex
	closed int
	ends   [2]chan []byte // what is under way to the client, and to the server
	drops  [2]uint64      // likewise
}

// Faults are what happens to each nth datagram of one direction; 0 is never. What
// happens to one is the first of these that is due.
type Faults struct {
	Hide   uint64        // lost, and counted nowhere
	Drop   uint64        // lost, and counted where it should have arrived
	Late   uint64        // held up by By
	By     time.Duration // see Late
	Double uint64        // comes twice
	Spoil  uint64        // comes with another byte at its end
	Err    error         // of every Send
	sent   uint64
}

// NewLine returns a line for payloads of size bytes.
func NewLine(size int) *Line {
	return &Line{Size: size, Mode: "-", ends: [2]chan []byte{make(chan []byte, Hold), make(chan []byte, Hold)}}
}

// Set changes fields while the ends are in use.
func (l *Line) Set(f func(*Line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// Closed returns how many ends have been closed.
func (l *Line) Closed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Client and Server return the two ends.
func (l *Line) Client() path.Peer {
	return &peer{l: l, own: 0, f: &l.Requests, out: make([]byte, l.Size)}
}

// Server is documented with Client.
func (l *Line) Server() path.Peer {
	return &peer{l: l, own: 1, f: &l.Answers, out: make([]byte, l.Size)}
}

type peer struct {
	l       *Line
	own     int     // index of our end
	f       *Faults // of what we send
	out, in []byte
}

func (p *peer) Request() ([]byte, error) { return p.out, nil }
func (p *peer) Send() error              { return p.l.send(1-p.own, p.f, p.out) }

func (p *peer) Reply() error {
	if p.in == nil {
		return errors.New("reply to nothing")
	}
	defer func() { p.in = nil }()
	return p.l.send(1-p.own, p.f, p.in)
}

// Receive returns sooner than it may at times, as real paths do.
func (p *peer) Receive(until time.Time) ([]byte, error) {
	timeout := time.NewTimer(min(time.Until(until), receiveWait))
	defer timeout.Stop()
	select {
	case p.in = <-p.l.ends[p.own]:
		return p.in, nil
	case <-timeout.C:
		p.in = nil
		return nil, nil
	}
}

// send brings a datagram to an end, or does what else is due.
func (l *Line) send(to int, f *Faults, b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.Err != nil {
		return f.Err
	}
	b = append([]byte(nil), b...)
	f.sent++
	due := func(n uint64) bool { return n > 0 && f.sent%n == 0 }
	switch {
	case due(f.Hide):
	case due(f.Drop):
		l.drops[to]++
	case due(f.Late):
		time.AfterFunc(f.By, func() { l.ends[to] <- b })
	case due(f.Double):
		l.ends[to] <- b
		l.ends[to] <- b
	case due(f.Spoil):
		b[len(b)-1]++
		l.ends[to] <- b
	default:
		l.ends[to] <- b
	}
	return nil
}

func (p *peer) Info() path.Info {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	return path.Info{Mode: p.l.Mode, Batch: 1}
}

func (p *peer) Counters() (loss.Counts, error) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	return loss.Counts{{Place: loss.Socket, N: p.l.drops[p.own]}}, nil
}

func (p *peer) Close() error {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.l.closed++
	return nil
}
