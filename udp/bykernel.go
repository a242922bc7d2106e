// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/umem"
)

// byKernel sends a datagram by the companion socket and gives its frame back.
func (q *Queue) byKernel(fl *Flow, st *flowState, o *Outgoing) error {
	if q.pending > 0 && st.kind.Direct() {
		// What went before it on the fast lane leaves before it.
		if _, err := q.flush(); err != nil {
			return err
		}
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
	if c.remote.IsValid() {
		out[0].Dst = fl.dst
	}
	n, err := c.lane.Send(out[:])
	switch {
	case err != nil:
		if errors.Is(err, syscall.EMSGSIZE) && c.table != nil {
			c.table.Invalidate() // the kernel has learnt a path MTU
		}
		return err
	case n == 0:
		return syscall.EAGAIN
	}
	fl.slow.Store(true)
	if !c.link.Load().Running() && !fl.dst.Addr().IsLoopback() {
		c.stats.txLinkDown.Add(1)
	}
	c.stats.kernelTx.Add(1)
	c.stats.kernelTxBytes.Add(uint64(len(payload)))
	return nil
}

// settled tells whether the fast lane may be taken without overtaking what the
// flow has sent by the kernel lane: all of that has left the socket.
func (f *Flow) settled() bool {
	if !f.slow.Load() {
		return true
	}
	if left, err := f.conn.lane.Unsent(); err != nil || left > 0 {
		return false
	}
	f.slow.Store(false)
	return true
}
