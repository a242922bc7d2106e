// SPDX-License-Identifier: MIT

package intake

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/udp"
)

// batch is how many packets are taken at once.
const batch = 64

// Fast is a stream by AF_XDP. Its packets are read where the driver wrote them; those
// that take the kernel lane, fragments for instance, come out of the same call.
type Fast struct {
	// Pause is how long Receive lets packets collect, when it has taken all there are
	// and an image is not whole yet. A receiver that waits for each of them is woken by
	// each: that costs more than all else that it does. What comes in a Pause must find
	// room in the ring. Set it before Receive.
	Pause time.Duration

	conn   *udp.Conn
	camera netip.Addr
	other  atomic.Uint64
}

// OpenFast opens a port for the stream of one camera.
func OpenFast(ctx context.Context, cfg udp.Config, camera netip.Addr) (*Fast, error) {
	conn, err := udp.Listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Fast{conn: conn, camera: camera.Unmap()}, nil
}

func (f *Fast) Port() uint16   { return f.conn.LocalAddr().Port() }
func (f *Fast) String() string { return "xdp: " + f.conn.Info().String() }
func (f *Fast) Close() error   { return f.conn.Close() }

// Stats are those of the connection.
func (f *Fast) Stats() (udp.Stats, error) { return f.conn.Stats() }

func (f *Fast) Drops() (Drops, error) {
	st, err := f.conn.Stats()
	d := Drops{Ring: st.Kernel.KernelDrops, Other: f.other.Load()}
	for _, s := range st.Sockets {
		d.Large += s.RxTooBig()
		d.Ring += s.RxLost() - s.RxTooBig()
	}
	return d, err
}

// Receive has a goroutine for each queue of the interface: which one the stream comes
// to is the device's choice.
func (f *Fast) Receive(ctx context.Context, in *Intake) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queues := f.conn.Queues()
	done := make(chan error, len(queues))
	idle := &idleness{empty: map[*udp.Queue]bool{}, of: len(queues)}
	for _, q := range queues {
		go func() { done <- f.receive(ctx, q, in, idle) }()
	}
	var errs []error
	for range queues {
		errs = append(errs, <-done)
		stop() // one that ends ends all: its packets would be missing
	}
	return errors.Join(errs...)
}

// receive gives what comes to one queue. It looks up at least every so often.
func (f *Fast) receive(ctx context.Context, q *udp.Queue, in *Intake, idle *idleness) error {
	r := &reader{f: f, q: q, in: in, ds: make([]udp.Received, batch), ours: make([]*udp.Received, 0, batch)}
	q.SetReceiveDeadline(time.Now().Add(tail))
	for {
		// How many come at a time says nothing of how many wait: a call takes so many
		// descriptors, and large packets have several.
		n, err := q.Receive(r.ds)
		if n == 0 && err == nil {
			if idle.is(q, true) {
				in.Idle()
			}
			if f.Pause > 0 && in.InFlight() > 0 && !r.paused {
				r.paused = true
				time.Sleep(f.Pause)
				continue
			}
			n, err = q.ReceiveContext(ctx, r.ds)
			if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
				// The deadline comes first, also if packets wait: look again.
				q.SetReceiveDeadline(time.Now().Add(tail))
				continue
			}
		}
		if err != nil {
			return ended(ctx, err)
		}
		idle.is(q, n == 0)
		if err := r.take(n); err != nil {
			return err
		}
	}
}

// reader is the receiving of one queue.
type reader struct {
	f      *Fast
	q      *udp.Queue
	in     *Intake
	ds     []udp.Received
	ours   []*udp.Received
	paused bool // since the last packet came
}

// take hands on what has come, and gives it back.
func (r *reader) take(n int) error {
	r.ours, r.paused = r.ours[:0], false
	for i := range r.ds[:n] {
		if r.ds[i].Src.Addr() == r.f.camera {
			r.ours = append(r.ours, &r.ds[i])
		}
	}
	r.f.other.Add(uint64(n - len(r.ours)))
	r.in.Take(len(r.ours), r.packet, false)
	if err := r.q.Release(r.ds[:n]); err != nil {
		return fmt.Errorf("intake: %w", err)
	}
	return nil
}

func (r *reader) packet(i int) ([]byte, [][]byte) { return r.ours[i].Payload, r.ours[i].Rest }

// idleness tells whether all queues are empty: one that is says nothing of the others.
type idleness struct {
	mu    sync.Mutex // guards what follows
	empty map[*udp.Queue]bool
	of    int
}

// is notes whether a queue is empty, and tells whether all are.
func (i *idleness) is(q *udp.Queue, empty bool) (all bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if empty {
		i.empty[q] = true
	} else {
		delete(i.empty, q)
	}
	return len(i.empty) == i.of
}
