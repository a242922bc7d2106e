// SPDX-License-Identifier: MIT

// Package pathtest is a path in memory, for tests of what stands above paths.
package pathtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Hold is how many datagrams a wire holds. More are dropped and counted.
const Hold = 512

// receiveWait is how long a Receive waits for the first datagram.
const receiveWait = 5 * time.Millisecond

// A Wire carries what its sender sends to its receiver. Set the fields before
// the ends are used, or under Set.
type Wire struct {
	Size, Batch int
	DropNth     uint64 // drop each nth datagram and count it, 0 for none
	HideNth     uint64 // drop each nth datagram and count it nowhere
	SendErr     error  // of every Send
	Panic       string // of every Send
	Mode        string
	OneShot     bool

	mu      sync.Mutex
	queue   [][]byte
	sent    uint64
	dropped uint64
	closed  int
	arrived chan struct{} // capacity 1
}

// NewWire returns a wire for payloads of size bytes.
func NewWire(size, batch int) *Wire {
	return &Wire{Size: size, Batch: batch, Mode: "-", arrived: make(chan struct{}, 1)}
}

// Set changes fields while the ends are in use.
func (w *Wire) Set(f func(*Wire)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// Closed returns how many ends have been closed.
func (w *Wire) Closed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

type end struct{ w *Wire }

func (e end) Info() path.Info {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	return path.Info{Mode: e.w.Mode, Batch: e.w.Batch, OneShot: e.w.OneShot}
}

func (e end) Close() error {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.closed++
	return nil
}

type sender struct {
	end
	bufs [][]byte
}

// Sender returns the sending end.
func (w *Wire) Sender() path.Sender {
	s := &sender{end: end{w}}
	for range w.Batch {
		s.bufs = append(s.bufs, make([]byte, w.Size))
	}
	return s
}

func (s *sender) Counters() (loss.Counts, error) { return nil, nil }

func (s *sender) Reserve(bufs [][]byte) (int, error) { return copy(bufs, s.bufs), nil }

func (s *sender) Flush() (int, error) { return 0, nil }

func (s *sender) Send(n int) (int, error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Panic != "" {
		panic(w.Panic)
	}
	if w.SendErr != nil {
		return 0, w.SendErr
	}
	for _, b := range s.bufs[:n] {
		w.sent++
		switch {
		case w.HideNth > 0 && w.sent%w.HideNth == 0:
		case w.DropNth > 0 && w.sent%w.DropNth == 0, len(w.queue) >= Hold:
			w.dropped++
		default:
			w.queue = append(w.queue, append([]byte(nil), b...))
		}
	}
	select {
	case w.arrived <- struct{}{}:
	default:
	}
	return n, nil
}

type receiver struct{ end }

// Receiver returns the receiving end.
func (w *Wire) Receiver() path.Receiver { return receiver{end{w}} }

func (r receiver) Counters() (loss.Counts, error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return loss.Counts{{Place: loss.Socket, N: r.w.dropped}}, nil
}

func (r receiver) Receive(ctx context.Context, views [][]byte) (int, error) {
	timeout := time.NewTimer(receiveWait)
	defer timeout.Stop()
	for {
		r.w.mu.Lock()
		n := copy(views, r.w.queue)
		r.w.queue = r.w.queue[n:]
		r.w.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-r.w.arrived:
		case <-timeout.C:
			return 0, nil
		case <-ctx.Done():
			return 0, nil
		}
	}
}

// ErrNoPath is what an opener of a test may answer.
var ErrNoPath = errors.New("no such path in this test")

var _ stream.Sender = &sender{}
