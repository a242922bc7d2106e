// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"

	"github.com/xdpath/xdpath/udp"
)

// An endpointReceiver is the receiving side.
type endpointReceiver struct {
	*endpoint
	queue *udp.Queue
	batch []udp.Received
	held  int
}

func openEndpointReceiver(cfg Config) (*endpointReceiver, error) {
	e, err := openEndpoint(cfg)
	if err != nil {
		return nil, err
	}
	return newEndpointReceiver(cfg, e, e.conn.Queues()[0]), nil
}

func newEndpointReceiver(cfg Config, e *endpoint, q *udp.Queue) *endpointReceiver {
	return &endpointReceiver{endpoint: e, queue: q, batch: make([]udp.Received, cfg.Batch)}
}

// Receive gives the last batch back and waits for the next.
func (r *endpointReceiver) Receive(ctx context.Context, views [][]byte) (int, error) {
	if err := r.release(); err != nil {
		return 0, err
	}
	n, err := r.queue.ReceiveContext(ctx, r.batch[:len(views)])
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return 0, err
	}
	r.held = n
	for i := range r.batch[:n] {
		views[i] = r.batch[i].Payload
	}
	return n, nil
}

// Rest implements stream.Segmenter.
func (r *endpointReceiver) Rest(i int) [][]byte { return r.batch[i].Rest }

func (r *endpointReceiver) release() error {
	n := r.held
	r.held = 0
	return r.queue.Release(r.batch[:n])
}

// Close gives the last batch back and closes.
func (r *endpointReceiver) Close() error { return errors.Join(r.release(), r.endpoint.Close()) }
