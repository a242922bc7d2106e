// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// endpointPath is AF_XDP as an application has it: batches of borrowed frames
// through a udp.Queue.
func endpointPath() Path {
	return Path{
		Name: "xdp", Fragments: true, Coalesces: true, Fan: endpointFan, Forward: openForwarder,
		Sender:   func(cfg Config) (Sender, error) { return openEndpointSender(cfg) },
		Receiver: func(cfg Config) (Receiver, error) { return openEndpointReceiver(cfg) },
		Peer:     func(cfg Config) (Peer, error) { return openEndpointPeer(cfg, xsk.Adaptive) },
		Camera:   func(cfg Config) (Camera, error) { return openEndpointCamera(cfg) },
	}
}

// deferredPath is xdp with the receiving interface's NAPI deferred: the kernel hands
// on what came in within a time together.
func deferredPath() Path {
	const timeout = 50 * time.Microsecond
	return Path{
		Name: "xdp-deferred", Extra: []Kind{Stream},
		Sender: func(cfg Config) (Sender, error) { return openEndpointSender(cfg) },
		Receiver: func(cfg Config) (Receiver, error) {
			e, err := openWith(cfg, udp.Config{RxCoalesce: udp.RxCoalesce{Timeout: timeout}})
			if err != nil {
				return nil, err
			}
			return newEndpointReceiver(cfg, e, e.conn.Queues()[0]), nil
		},
	}
}

// An endpoint is what both sides have in common, with the PacketConn path too.
type endpoint struct {
	conn *udp.Conn
	info Info
}

// openEndpoint opens a connected Conn with rings of the size that the direct path
// has, which waits as it does by default.
func openEndpoint(cfg Config) (*endpoint, error) { return openWaiting(cfg, xsk.Adaptive) }

// openWaiting is openEndpoint for another way of waiting.
func openWaiting(cfg Config, w xsk.Wait) (*endpoint, error) {
	return openWith(cfg, udp.Config{Wait: w})
}

// openWith is openEndpoint on top of c.
func openWith(cfg Config, c udp.Config) (*endpoint, error) {
	entries := cfg.Hold * frames(min(cfg.Size, cfg.MTU-ipHeaders))
	own := udp.Config{
		Interface: cfg.Interface, Local: cfg.Local, Remote: cfg.Peer, Queues: c.Queues,
		RingSize: entries, TxFrames: entries / 2, TxChecksum: udp.TxNone,
		Wait: c.Wait, RxCoalesce: c.RxCoalesce, Area: c.Area, Mode: c.Mode, Attach: c.Attach, Coalesce: cfg.Coalesce,
	}
	if own.Queues == nil {
		own.Queues = []int{cfg.Queue}
	}
	if fragments(cfg) > 1 { // it goes the kernel lane
		own.ReceiveBuffer, own.SendBuffer = cfg.Hold*cfg.charge()/2, cfg.Hold*cfg.charge()/2
	}
	if cfg.Checksum {
		own.TxChecksum = udp.TxSoftware
	}
	conn, err := udp.Listen(context.Background(), own)
	if err != nil {
		return nil, err
	}
	got := conn.Info()
	sums := ""
	if cfg.Checksum {
		sums = ", sums"
	}
	notes := got.Sockets[0].Notes
	if d := c.RxCoalesce.Timeout; d > 0 {
		notes = append(notes, fmt.Sprintf("the receiving interface's NAPI is deferred by %v, which adds as much latency", d))
	}
	send, receive := rooms(conn.Queues()[0].Socket())
	return &endpoint{conn: conn, info: Info{
		Mode: got.Attach.String() + " " + got.Sockets[0].Mode.String() + sums, Batch: cfg.Batch, Notes: notes,
		SendRoom: send, ReceiveRoom: receive,
	}}, nil
}

// rooms are what the rings of a socket hold, in bytes of chunks.
func rooms(s *xsk.Socket) (send, receive int) {
	info, chunk := s.Info(), s.Area().ChunkSize()
	return int(info.TxSize) * chunk, int(info.RxSize) * chunk
}

// frames is how many entries of a ring a datagram with size bytes of payload may
// take, as a power of two: what a ring holds is counted in datagrams here.
func frames(size int) int {
	const chunk = 2048 - 256 // bytes in the smallest
	return 1 << bits.Len(uint((size+headers-1)/chunk))
}

// headers is the longest Ethernet, IP and UDP header, with a tag.
const headers = 14 + 4 + 40 + 8

func (e *endpoint) Info() Info { return e.info }

// Counters reads what the Conn lost, and where.
func (e *endpoint) Counters() (loss.Counts, error) {
	st, err := e.conn.Stats()
	if err != nil {
		return nil, err
	}
	var s xsk.Stats // of all queues
	for _, one := range st.Sockets {
		s.TxLost += one.TxLost
		s.TxInvalid += one.TxInvalid
		s.RxRingFull += one.RxRingFull
		s.RxFillEmpty += one.RxFillEmpty
		s.RxDropped += one.RxDropped
	}
	var malformed uint64
	for _, n := range st.Malformed {
		malformed += n
	}
	return loss.Counts{
		{Place: loss.Send, N: s.TxLost + st.TxLinkDown + st.TxRefused},
		{Place: loss.TXInvalid, N: s.TxInvalid},
		{Place: loss.RXRing, N: s.RxRingFull},
		{Place: loss.FillRing, N: s.RxFillEmpty},
		{Place: loss.RXDropped, N: s.RxTooBig()},
		{Place: loss.Socket, N: st.Kernel.KernelDrops},
		{Place: loss.Filter, N: st.BadChecksum + st.OtherSource + malformed},
	}, nil
}

// Close closes the Conn.
func (e *endpoint) Close() error { return e.conn.Close() }

// warm waits until datagrams to the peer take the fast lane: the neighbour is
// resolved and nothing is under way by the kernel lane.
func (e *endpoint) warm(cfg Config) (*udp.Flow, error) {
	flow := e.conn.Flow(cfg.Peer)
	for end := time.Now().Add(sendWait); ; time.Sleep(time.Millisecond) {
		if flow.MaxPayload() >= min(cfg.Size, cfg.MTU-ipHeaders) {
			return flow, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("no fast lane: %v", flow)
		}
	}
}

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
