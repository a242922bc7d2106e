// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// endpointBlockPath is a udp.Queue that sleeps in the kernel for each datagram.
func endpointBlockPath() Path {
	return Path{Name: "xdp-block", Fragments: true, Peer: func(cfg Config) (Peer, error) { return openEndpointPeer(cfg, xsk.Block) }}
}

// endpointBusyPath is a udp.Queue that never sleeps.
func endpointBusyPath() Path {
	return Path{Name: "xdp-busy", Fragments: true, Peer: func(cfg Config) (Peer, error) { return openEndpointPeer(cfg, xsk.Busy) }}
}

// An endpointPeer asks in reserved frames and answers in the frames that the
// requests came in.
type endpointPeer struct {
	*endpoint
	queue *udp.Queue
	flow  *udp.Flow
	size  int
	long  [][]byte // see longPayloads
	whole []byte   // where a payload of several segments is joined
	out   [1]udp.Outgoing
	in    [1]udp.Received
	held  bool // in is ours
	armed bool // the queue has a deadline that has not passed
}

func openEndpointPeer(cfg Config, w xsk.Wait) (*endpointPeer, error) {
	e, err := openWaiting(cfg, w)
	if err != nil {
		return nil, err
	}
	return newEndpointPeer(cfg, e)
}

// newEndpointPeer takes e over.
func newEndpointPeer(cfg Config, e *endpoint) (*endpointPeer, error) {
	flow, err := e.warm(cfg)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.info.Batch = 1
	return &endpointPeer{
		endpoint: e, queue: e.conn.Queues()[0], flow: flow, size: cfg.Size,
		long: longPayloads(e.conn, cfg.Size, 1), whole: make([]byte, cfg.Size+1),
	}, nil
}

// Request reserves a frame.
func (p *endpointPeer) Request() ([]byte, error) {
	if err := p.release(); err != nil {
		return nil, err
	}
	n, err := p.queue.Reserve(p.out[:])
	if err == nil && n == 0 {
		err = errors.New("no frame is free though nothing is under way")
	}
	if err != nil {
		return nil, err
	}
	o := &p.out[0]
	if o.Flow = p.flow; p.long != nil {
		o.Payload = p.long[0]
	} else {
		o.Payload = o.Payload[:p.size]
	}
	return o.Payload, nil
}

// Send sends it, with its headers.
func (p *endpointPeer) Send() error {
	n, err := p.queue.Send(p.out[:])
	if err = dropLost(err); err == nil && n == 0 {
		err = errTXRing
	}
	if err != nil {
		err = errors.Join(err, p.queue.Abort(p.out[:]))
	}
	return err
}

// errTXRing ends a test of round trips: one at a time cannot fill a ring.
var errTXRing = fmt.Errorf("the TX ring takes nothing though only one datagram is under way")

// Receive takes one datagram. As for connPeer, a deadline stays until it has
// passed.
func (p *endpointPeer) Receive(until time.Time) ([]byte, error) {
	if err := p.release(); err != nil {
		return nil, err
	}
	if !p.armed {
		p.queue.SetReceiveDeadline(until)
		p.armed = true
	}
	n, err := p.queue.ReceiveContext(context.Background(), p.in[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.armed, err = false, nil
	}
	if n == 0 || err != nil {
		return nil, err
	}
	p.held = true
	if d := &p.in[0]; d.Rest != nil {
		return p.whole[:d.Copy(p.whole)], nil
	}
	return p.in[0].Payload, nil
}

// Reply turns the datagram round where it lies.
func (p *endpointPeer) Reply() error {
	p.held = false
	if err := p.queue.Reply(&p.in[0], &p.out[0]); err != nil {
		return errors.Join(err, p.queue.Release(p.in[:]))
	}
	return p.Send()
}

func (p *endpointPeer) release() error {
	if !p.held {
		return nil
	}
	p.held = false
	return p.queue.Release(p.in[:])
}

// Close gives the last datagram back and closes.
func (p *endpointPeer) Close() error { return errors.Join(p.release(), p.endpoint.Close()) }
