// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// An xdpReceiver is the receiving side, with the library's program.
type xdpReceiver struct {
	*xdpEnd
	program *bpf.Program
	parser  parser
	held    []umem.Frame // whose payloads are handed out
}

func openXDPReceiver(cfg Config) (*xdpReceiver, error) { return openXDPDirected(cfg, xsk.ReceiveOnly) }

// openXDPDirected opens a receiver that may send as well.
func openXDPDirected(cfg Config, d xsk.Direction) (*xdpReceiver, error) {
	e, err := openXDP(cfg, d)
	if err != nil {
		return nil, err
	}
	r := &xdpReceiver{xdpEnd: e, parser: parser{local: cfg.Local.Port()}}
	if err := r.attach(cfg); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// attach puts the program on the interface, which lets nothing through to the
// socket before filter and queue are in.
func (r *xdpReceiver) attach(cfg Config) error {
	p, err := bpf.Attach(bpf.Config{Interface: cfg.Interface, Queues: cfg.Queue + 1})
	if err != nil {
		return err
	}
	r.program = p
	r.info.Mode = p.Info().Mode.String() + " " + r.info.Mode
	return errors.Join(p.Allow(bpf.Filter{Addr: cfg.Local}), p.SetQueue(cfg.Queue, r.socket.FD()))
}

// Receive gives the frames of the last batch back and waits for others, in the
// way that the library thinks best.
func (r *xdpReceiver) Receive(ctx context.Context, views [][]byte) (int, error) {
	if len(r.held) > 0 {
		if err := r.socket.Release(r.held); err != nil {
			return 0, err
		}
		r.held = nil
	}
	n, err := r.socket.ReceiveContext(ctx, r.frames[:len(views)])
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return 0, err
	}
	r.held = r.frames[:n]
	got := 0
	for _, f := range r.held {
		b, err := r.area.Bytes(f)
		if err != nil {
			return got, err
		}
		if p, ok := r.parser.payload(b); ok {
			views[got] = p
			got++
		}
	}
	return got, nil
}

// Counters adds what the program left to the kernel, where no socket is.
func (r *xdpReceiver) Counters() (loss.Counts, error) {
	counts, err := r.xdpEnd.Counters()
	if err != nil {
		return nil, err
	}
	c, err := r.program.Counters()
	if err != nil {
		return nil, err
	}
	passed := c.Passed() - c.NotUDP - c.Broadcast // ARP and the like are not ours
	return append(counts, loss.Count{Place: loss.Filter, N: passed}), nil
}

// Close takes the program off and closes the socket.
func (r *xdpReceiver) Close() error {
	var errs error
	if len(r.held) > 0 {
		errs = r.socket.Release(r.held)
		r.held = nil
	}
	if r.program != nil {
		errs = errors.Join(errs, r.program.Close())
		r.program = nil
	}
	return errors.Join(errs, r.socket.Close())
}
