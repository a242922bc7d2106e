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
	ds := make([]udp.Received, batch)
	ours := make([]*udp.Received, 0, batch)
	packet := func(i int) ([]byte, [][]byte) { return ours[i].Payload, ours[i].Rest }
	q.SetReceiveDeadline(time.Now().Add(tail))
	for {
		n, err := q.ReceiveContext(ctx, ds)
		if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
			q.SetReceiveDeadline(time.Now().Add(tail))
			n, err = q.Receive(ds) // the deadline comes first, also if packets wait
		}
		if err != nil {
			return ended(ctx, err)
		}
		if n == 0 {
			if idle.all(q) {
				in.Idle()
			}
			continue
		}
		ours = ours[:0]
		for i := range ds[:n] {
			if ds[i].Src.Addr() == f.camera {
				ours = append(ours, &ds[i])
			}
		}
		f.other.Add(uint64(n - len(ours)))
		in.Take(len(ours), packet, n < batch)
		if err := q.Release(ds[:n]); err != nil {
			return fmt.Errorf("intake: %w", err)
		}
		if f.Pause > 0 && n < batch && in.InFlight() > 0 {
			time.Sleep(f.Pause)
		}
	}
}

// idleness tells when all queues have been found empty: one that is empty says
// nothing of the others.
type idleness struct {
	mu    sync.Mutex // guards what follows
	empty map[*udp.Queue]bool
	of    int
}

// all notes that a queue is empty. True once for each time that all were.
func (i *idleness) all(q *udp.Queue) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.empty[q] = true
	if len(i.empty) < i.of {
		return false
	}
	clear(i.empty)
	return true
}
