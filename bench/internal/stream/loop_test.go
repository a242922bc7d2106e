// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A pipe is a path in memory. What is sent waits in it until it is received.
type pipe struct {
	mu      sync.Mutex
	queue   [][]byte
	arrived chan struct{} // capacity 1
	bufs    [][]byte
	full    int // Reserve answers 0 this many times
	fail    error
	after   int // calls of Send before it fails
}

func newPipe(size, batch int) *pipe {
	p := &pipe{arrived: make(chan struct{}, 1), after: -1}
	for range batch {
		p.bufs = append(p.bufs, make([]byte, size))
	}
	return p
}

func (p *pipe) Reserve(bufs [][]byte) (int, error) {
	if p.full > 0 {
		p.full--
		return 0, nil
	}
	return copy(bufs, p.bufs), nil
}

func (p *pipe) Send(n int) (int, error) {
	if p.after == 0 {
		return 0, p.fail
	}
	p.after--
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bufs[:n] {
		p.queue = append(p.queue, append([]byte(nil), b...))
	}
	select {
	case p.arrived <- struct{}{}:
	default:
	}
	return n, nil
}

func (p *pipe) Flush() (int, error) { return 0, nil }

func (p *pipe) Receive(ctx context.Context, views [][]byte) (int, error) {
	for {
		p.mu.Lock()
		n := copy(views, p.queue)
		p.queue = p.queue[n:]
		p.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-p.arrived:
		case <-time.After(10 * time.Millisecond):
			return 0, nil
		case <-ctx.Done():
			return 0, nil
		}
	}
}

// A cutter is a pipe that hands out each payload in segments.
type cutter struct {
	*pipe
	rest [][][]byte
}

func (c *cutter) Receive(ctx context.Context, views [][]byte) (int, error) {
	n, err := c.pipe.Receive(ctx, views)
	c.rest = c.rest[:0]
	for i, v := range views[:n] {
		views[i] = v[:20+i]
		c.rest = append(c.rest, [][]byte{v[20+i : 33], v[33:]})
	}
	return n, err
}

func (c *cutter) Rest(i int) [][]byte { return c.rest[i] }

func TestSegments(t *testing.T) {
	c := &cutter{pipe: newPipe(64, 8)}
	check := NewChecker(64, 5)
	sent, err := Transmit(t.Context(), c, NewGenerator(64, 5), 8, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Collect(ctx, c, check, 8); err != nil {
		t.Fatal(err)
	}
	if got := check.Tally(); got != (Tally{Received: sent.Datagrams}) || got.Received == 0 {
		t.Errorf("sent %d: %+v", sent.Datagrams, got)
	}
}

func TestLoops(t *testing.T) {
	p := newPipe(64, 8)
	p.full = 3
	check := NewChecker(64, 9)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Collect(ctx, p, check, 5)
		done <- err
	}()
	sent, err := Transmit(t.Context(), p, NewGenerator(64, 9), 8, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if sent.Datagrams == 0 || sent.Datagrams%8 != 0 || sent.Elapsed < 50*time.Millisecond {
		t.Errorf("sent %+v", sent)
	}
	if got, want := check.Tally(), (Tally{Received: sent.Datagrams}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

// TestDrain sends everything before the receiver begins, and tells it to end
// before it begins: what is queued counts all the same.
func TestDrain(t *testing.T) {
	p := newPipe(64, 8)
	sent, err := Transmit(t.Context(), p, NewGenerator(64, 9), 8, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	check := NewChecker(64, 9)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := time.Now()
	if _, err := Collect(ctx, p, check, 8); err != nil {
		t.Fatal(err)
	}
	if check.Tally().Received != sent.Datagrams {
		t.Errorf("received %d of %d", check.Tally().Received, sent.Datagrams)
	}
	if took := time.Since(begun); took > drainMost/2 {
		t.Errorf("drained for %v", took)
	}
}

// A drip never runs dry.
type drip struct{ p []byte }

func (d drip) Receive(_ context.Context, views [][]byte) (int, error) {
	views[0] = d.p
	return 1, nil
}

// TestDrainEnds proves that a stream of strangers cannot hold the receiver.
func TestDrainEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check := NewChecker(64, 1)
	begun := time.Now()
	if _, err := Collect(ctx, drip{make([]byte, 64)}, check, 1); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < drainMost || took > 2*drainMost {
		t.Errorf("ended after %v, want %v", took, drainMost)
	}
	if tally := check.Tally(); tally.Received != 0 || tally.Foreign == 0 {
		t.Errorf("tally %+v", tally)
	}
}

func TestTransmitErrors(t *testing.T) {
	p := newPipe(64, 8)
	p.fail, p.after = errors.New("cable cut"), 2
	sent, err := Transmit(t.Context(), p, NewGenerator(64, 9), 8, time.Minute)
	if !errors.Is(err, p.fail) || sent.Datagrams != 16 {
		t.Errorf("sent %+v, error %v", sent, err)
	}
}

func TestTransmitStops(t *testing.T) {
	p := newPipe(64, 8)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	sent, err := Transmit(ctx, p, NewGenerator(64, 9), 8, time.Minute)
	if err != nil || sent.Elapsed > 10*time.Second {
		t.Errorf("sent %+v, error %v", sent, err)
	}
}

// A void takes everything at once.
type void struct{ bufs [][]byte }

func (v *void) Reserve(bufs [][]byte) (int, error) { return copy(bufs, v.bufs), nil }
func (v *void) Send(n int) (int, error)            { return n, nil }
func (v *void) Flush() (int, error)                { return 0, nil }

// TestLoopAllocations counts what a whole window allocates: a handful for its
// beginning and nothing for each of its many datagrams.
func TestLoopAllocations(t *testing.T) {
	v := &void{newPipe(64, 64).bufs}
	gen := NewGenerator(64, 1)
	var datagrams uint64
	got := testing.AllocsPerRun(1, func() {
		sent, err := Transmit(t.Context(), v, gen, 64, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		datagrams = sent.Datagrams
	})
	if got > 20 || datagrams < 1000 {
		t.Errorf("%v allocations in a window of %d datagrams", got, datagrams)
	}
}
