// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"net/netip"
	"syscall"
	"time"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/umem"
)

// byKernel sends a datagram by the companion socket and gives its frame back.
func (q *Queue) byKernel(fl *Flow, o *Outgoing) error {
	if err := q.ahead(); err != nil {
		return err
	}
	if err := q.conn.sendKernel(fl, o.Payload, o.Src, o.TOS); err != nil {
		return err
	}
	o.held, o.Payload = false, nil
	return q.sock.Release([]umem.Frame{o.frame})
}

// sendKernel sends a payload by the companion socket.
func (c *Conn) sendKernel(fl *Flow, payload []byte, src netip.Addr, tos uint8) error {
	out := [1]lane.Outgoing{{Payload: payload, Dst: fl.dst, Src: src, TTL: c.cfg.TTL, TOS: c.tos(tos)}}
	n, err := c.lane.Send(out[:])
	switch {
	case err != nil:
		if errors.Is(err, syscall.EMSGSIZE) && len(payload) <= maxBundle && c.table != nil {
			c.table.Invalidate() // the kernel has learnt a path MTU
		}
		return err
	case n == 0:
		return syscall.EAGAIN
	}
	fl.slow.Store(int64(time.Since(epoch)))
	if !c.link.Load().Running() && !fl.dst.Addr().IsLoopback() {
		c.stats.txLinkDown.Add(1)
	}
	c.stats.kernelTx.Add(1)
	c.stats.kernelTxBytes.Add(uint64(len(payload)))
	return nil
}

// ahead sees to it that what went before on the fast lane leaves before a datagram
// of the kernel lane does. The lock is held.
func (q *Queue) ahead() error {
	if err := q.commit(); err != nil {
		return err
	}
	if q.pending == 0 {
		return nil
	}
	left, err := q.flush()
	if err = notLost(err); err == nil && left > 0 {
		err = errAgain
	}
	return err
}

// settleTime is after what time a datagram of the kernel lane has left for certain
// once its flow has a next hop: what is in the socket's queue then is others'.
const settleTime = 10 * time.Millisecond

// settled tells whether the fast lane may be taken without overtaking what the
// flow has sent by the kernel lane: nothing is left in the socket, or only what is
// not this flow's.
func (f *Flow) settled() bool {
	at := f.slow.Load()
	if at == 0 {
		return true
	}
	if time.Since(epoch)-time.Duration(at) < settleTime {
		if left, err := f.conn.lane.Unsent(); err != nil || left > 0 {
			return false
		}
	}
	// Not if another datagram has gone that way meanwhile.
	return f.slow.CompareAndSwap(at, 0)
}
