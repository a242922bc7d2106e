// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/udp"
)

// An endpointSender is the sending side.
type endpointSender struct {
	*endpoint
	queue *udp.Queue
	flow  *udp.Flow
	size  int
	batch []udp.Outgoing
	long  [][]byte // see longPayloads
}

// longPayloads are where payloads are written for which a frame has no room: Send
// copies them into several. Nil if a frame has.
func longPayloads(c *udp.Conn, size, n int) [][]byte {
	if size <= c.PayloadRoom() {
		return nil
	}
	bufs := make([][]byte, n)
	for i := range bufs {
		bufs[i] = make([]byte, size)
	}
	return bufs
}

func openEndpointSender(cfg Config) (*endpointSender, error) {
	e, err := openEndpoint(cfg)
	if err != nil {
		return nil, err
	}
	return newEndpointSender(cfg, e, e.conn.Queues()[0])
}

// newEndpointSender takes e over, to send on one of its queues.
func newEndpointSender(cfg Config, e *endpoint, q *udp.Queue) (*endpointSender, error) {
	flow, err := e.warm(cfg)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &endpointSender{
		endpoint: e, queue: q, flow: flow, size: cfg.Size,
		batch: make([]udp.Outgoing, cfg.Batch), long: longPayloads(e.conn, cfg.Size, cfg.Batch),
	}, nil
}

// Reserve gives out the payloads of reserved datagrams.
func (s *endpointSender) Reserve(bufs [][]byte) (int, error) {
	n, err := s.queue.Reserve(s.batch[:len(bufs)])
	if n == 0 && err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), receiveWait)
		n, err = s.queue.ReserveContext(ctx, s.batch[:len(bufs)])
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
	}
	if err != nil {
		return 0, err
	}
	for i := range s.batch[:n] {
		o := &s.batch[i]
		if o.Flow = s.flow; s.long != nil {
			o.Payload = s.long[i]
		} else {
			o.Payload = o.Payload[:s.size]
		}
		bufs[i] = o.Payload
	}
	return n, nil
}

// Send sends them, waiting a bounded time for room in the ring. What the Conn refuses
// is given back to it.
func (s *endpointSender) Send(n int) (int, error) {
	sent, done := 0, 0
	for begun := time.Now(); ; {
		k, err := s.queue.Send(s.batch[done:n])
		sent += k - held(s.batch[done:done+k])
		done += k
		err = dropLost(err)
		if err == nil && done < n && time.Since(begun) > sendWait {
			err = fmt.Errorf("%d datagrams did not get into the TX ring within %v", n-done, sendWait)
		}
		if err != nil {
			return sent, errors.Join(err, s.queue.Abort(s.batch[:n]))
		}
		if done == n {
			return sent, nil
		}
	}
}

// held counts datagrams that are the caller's still.
func held(os []udp.Outgoing) (n int) {
	for i := range os {
		if os[i].Payload != nil {
			n++
		}
	}
	return n
}

// dropLost takes away an error that the counters tell of, unless it tells of something
// refused, too.
func dropLost(err error) error {
	if !errors.Is(err, udp.ErrLost) {
		return err
	}
	// Only here: errors.As makes it escape.
	var refused *udp.SendError
	if errors.As(err, &refused) {
		return err
	}
	return nil
}

// Flush implements stream.Sender.
func (s *endpointSender) Flush() (int, error) { return drain(s.queue) }

// drain waits a bounded time until the kernel has taken all.
func (e *endpoint) drain() (int, error) { return drain(e.conn.Queues()[0]) }

// drain is that of one queue.
func drain(q *udp.Queue) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendWait)
	defer cancel()
	socket := q.Socket()
	err := socket.Drain(ctx)
	if err == nil {
		return 0, nil
	}
	if errors.Is(err, context.DeadlineExceeded) || stream.Refused(err) {
		err = nil
	}
	st, statErr := socket.Stats()
	return int(st.TxUsed), errors.Join(dropLost(err), statErr)
}
