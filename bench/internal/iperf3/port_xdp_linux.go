// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/xdpath/xdpath/udp"
)

// xdpBatch is the datagrams of one call.
const xdpBatch = 64

// xdpPort is a Port over AF_XDP.
type xdpPort struct{ conn *udp.Conn }

// OpenXDP opens a port with package udp.
func OpenXDP(ctx context.Context, cfg udp.Config) (Port, error) {
	conn, err := udp.Listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &xdpPort{conn}, nil
}

func (p *xdpPort) Batch() int     { return xdpBatch }
func (p *xdpPort) Close() error   { return p.conn.Close() }
func (p *xdpPort) String() string { return p.conn.Info().String() }

// Run has a goroutine for each queue.
func (p *xdpPort) Run(ctx context.Context, handle func([]Datagram)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	queues := p.conn.Queues()
	errs := make([]error, len(queues))
	for i, q := range queues {
		wait.Go(func() {
			defer cancel() // one that cannot go on ends all
			errs[i] = receiveFrom(ctx, q, handle)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func receiveFrom(ctx context.Context, q *udp.Queue, handle func([]Datagram)) error {
	frames, ds := make([]udp.Received, xdpBatch), make([]Datagram, xdpBatch)
	for {
		n, err := q.ReceiveContext(ctx, frames)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for i := range frames[:n] {
			d := &frames[i]
			ds[i] = Datagram{From: netip.AddrPortFrom(d.Src.Addr().Unmap(), d.Src.Port()), Payload: d.Payload, Size: d.Len()}
		}
		handle(ds[:n])
		if err := q.Release(frames[:n]); err != nil {
			return err
		}
	}
}

func (p *xdpPort) Sender(to netip.AddrPort) (Sender, error) {
	return &xdpSender{
		queue: p.conn.Queues()[0], flow: p.conn.Flow(to), batch: make([]udp.Outgoing, xdpBatch),
	}, nil
}

type xdpSender struct {
	queue *udp.Queue
	flow  *udp.Flow
	batch []udp.Outgoing
	large []byte // for datagrams that no frame has room for: they go by the kernel
}

func (s *xdpSender) Send(ctx context.Context, n, size int, fill func([]byte)) (int, error) {
	n, err := s.queue.ReserveContext(ctx, s.batch[:min(n, len(s.batch))])
	if err != nil {
		return 0, err
	}
	if n > 1 && size > cap(s.batch[0].Payload) {
		err = s.queue.Abort(s.batch[1:n]) // there is one piece of memory for those
		n = 1
	}
	for i := range s.batch[:n] {
		o := &s.batch[i]
		o.Flow, o.Payload = s.flow, s.room(o.Payload, size)
		fill(o.Payload)
	}
	sent, sendErr := s.sendAll(ctx, s.batch[:n])
	return sent, errors.Join(err, sendErr)
}

// room cuts a frame's payload to a size, or has other memory for a larger one.
func (s *xdpSender) room(payload []byte, size int) []byte {
	if size <= cap(payload) {
		return payload[:size]
	}
	if len(s.large) != size {
		s.large = make([]byte, size)
	}
	return s.large
}

// sendAll hands over a batch, within ctx, and gives up what does not go.
func (s *xdpSender) sendAll(ctx context.Context, batch []udp.Outgoing) (sent int, err error) {
	for sent < len(batch) && ctx.Err() == nil {
		n, err := s.queue.Send(batch[sent:])
		// What the kernel took and lost is on its way as far as anybody can tell.
		if err != nil && !errors.Is(err, udp.ErrLost) {
			for i := range batch[sent:] {
				_ = s.queue.Abort(batch[sent+i : sent+i+1]) // of those that have left it says so
			}
			return sent, fmt.Errorf("%v: %w", s.flow, err)
		}
		sent += n
	}
	return sent, s.queue.Abort(batch[sent:])
}

func (s *xdpSender) Flush(ctx context.Context) error {
	err := s.queue.Flush()
	if socket := s.queue.Socket(); socket != nil {
		err = errors.Join(err, socket.Drain(ctx))
	}
	if errors.Is(err, udp.ErrLost) || errors.Is(err, context.DeadlineExceeded) {
		return nil // the receiver counts
	}
	return err
}
