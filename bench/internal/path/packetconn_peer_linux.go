// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"os"
	"time"
)

// A connPeer is a net.UDPConn, or our PacketConn, that asks and answers.
type connPeer struct {
	connEnd
	out, in []byte
	n       int // bytes of in that were received
	armed   bool
}

func newConnPeer(e connEnd, cfg Config) *connPeer {
	e.info.Batch = 1
	if e.endpoint != nil {
		e.endpoint.info.Batch = 1
	}
	return &connPeer{connEnd: e, out: make([]byte, cfg.Size), in: make([]byte, cfg.Size+1)}
}

// Request lends the one buffer.
func (p *connPeer) Request() ([]byte, error) { return p.out, nil }

// Send writes it.
func (p *connPeer) Send() error { return p.write(p.out) }

func (p *connPeer) write(b []byte) error {
	_, err := p.conn.Write(b)
	return dropLost(err)
}

// Receive reads one datagram. A deadline stays until it has passed, even if it was
// for an earlier wait: to set it for each would cost more than to come back.
func (p *connPeer) Receive(until time.Time) ([]byte, error) {
	if !p.armed {
		if err := p.conn.SetReadDeadline(until); err != nil {
			return nil, err
		}
		p.armed = true
	}
	n, _, err := p.conn.ReadFromUDPAddrPort(p.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.armed = false
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.n = n
	return p.in[:n], nil
}

// Reply writes what was read.
func (p *connPeer) Reply() error { return p.write(p.in[:p.n]) }
