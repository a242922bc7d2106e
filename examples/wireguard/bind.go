// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"golang.zx2c4.com/wireguard/conn"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/umem"
)

// bind is wireguard-go's idea of a socket, a conn.Bind. wireguard-go opens it when
// the tunnel goes up, and again for another port.
type bind struct {
	cfg udp.Config

	mu sync.RWMutex // guards c
	c  *udp.Conn    // nil: closed
}

// Open opens the port on every queue of the interface, each with a function that
// wireguard-go receives by, in a goroutine of its own.
func (b *bind) Open(port uint16) ([]conn.ReceiveFunc, uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		return nil, 0, conn.ErrBindAlreadyOpen
	}
	cfg := b.cfg
	cfg.Local = netip.AddrPortFrom(cfg.Local.Addr(), port)
	c, err := udp.Listen(context.Background(), cfg)
	if err != nil {
		return nil, 0, err
	}
	b.c = c
	var receive []conn.ReceiveFunc
	for _, q := range c.Queues() {
		receive = append(receive, receiver(q))
	}
	return receive, c.LocalAddr().Port(), nil
}

// receiver receives from one queue. The datagrams are in frames that the driver
// wrote them into; wireguard-go decrypts in buffers of its own, so this one copy is
// needed, and the frames go back at once.
func receiver(q *udp.Queue) conn.ReceiveFunc {
	batch := make([]udp.Received, conn.IdealBatchSize)
	return func(packets [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
		n, err := q.ReceiveContext(context.Background(), batch[:min(len(batch), len(packets))])
		for i := range batch[:n] {
			d := &batch[i]
			sizes[i], from[i] = d.Copy(packets[i]), endpoint(d.Src)
		}
		return n, errors.Join(err, q.Release(batch[:n]))
	}
}

// Send sends datagrams to a peer, as many at a time as there are frames. Their
// bytes lie elsewhere, so the queue copies them into the frames.
func (b *bind) Send(packets [][]byte, to conn.Endpoint) error {
	dst, ok := to.(endpoint)
	if !ok {
		return conn.ErrWrongEndpointType
	}
	b.mu.RLock()
	c := b.c
	b.mu.RUnlock()
	if c == nil {
		return net.ErrClosed
	}
	q := c.Queues()[0] // one for all, or the datagrams of a peer overtake each other
	var out [conn.IdealBatchSize]udp.Outgoing
	for len(packets) > 0 {
		n, err := q.ReserveContext(context.Background(), out[:min(len(out), len(packets))])
		if err != nil {
			return err
		}
		for i := range out[:n] {
			out[i].Payload, out[i].Dst = packets[i], netip.AddrPort(dst)
		}
		sent, err := q.Send(out[:n])
		// What was refused, or found no room in the ring, is still ours.
		if err := errors.Join(err, q.Abort(out[:n])); err != nil {
			return err
		}
		packets = packets[sent:]
	}
	return nil
}

// Close ends the receivers with net.ErrClosed. One of them may just be about to
// give frames back, which is no error.
func (b *bind) Close() error {
	b.mu.Lock()
	c := b.c
	b.c = nil
	b.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := c.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
		return err
	}
	return nil
}

// BatchSize is what wireguard-go likes best.
func (b *bind) BatchSize() int { return conn.IdealBatchSize }

// SetMark would mark what the firewall sees; it does not see the fast lane.
func (b *bind) SetMark(mark uint32) error {
	if mark != 0 {
		return errors.ErrUnsupported
	}
	return nil
}

// ParseEndpoint reads a peer's address and port.
func (b *bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	a, err := netip.ParseAddrPort(s)
	return endpoint(a), err
}

// endpoint is where a peer is. The source address is the route's choice, each time.
type endpoint netip.AddrPort

func (e endpoint) ClearSrc()           {}
func (e endpoint) SrcIP() netip.Addr   { return netip.Addr{} }
func (e endpoint) SrcToString() string { return "" }
func (e endpoint) DstIP() netip.Addr   { return netip.AddrPort(e).Addr() }
func (e endpoint) DstToString() string { return netip.AddrPort(e).String() }

// DstToBytes is what cookies are made for.
func (e endpoint) DstToBytes() []byte {
	b, _ := netip.AddrPort(e).MarshalBinary()
	return b
}
