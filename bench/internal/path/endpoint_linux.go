// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
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
