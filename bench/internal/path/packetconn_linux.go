// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/sys"
	"github.com/xdpath/xdpath/udp"
)

// A conn is what net.UDPConn and our PacketConn have in common: one datagram a
// call, copied. Both paths run the same code over it.
type conn interface {
	net.Conn
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
}

// packetConnPath is AF_XDP as a program of net.UDPConn has it after one line was
// changed.
func packetConnPath() Path {
	return Path{
		Name: "xdp-packetconn", Fragments: true,
		Extra: []Kind{Stream},
		Sender: func(cfg Config) (Sender, error) {
			e, err := openEndpoint(cfg)
			if err != nil {
				return nil, err
			}
			if _, err := e.warm(cfg); err != nil {
				return nil, errors.Join(err, e.Close())
			}
			e.info.Batch = 1
			return &connSender{connEnd: connEnd{conn: e.conn.PacketConn(), endpoint: e}, buf: make([]byte, cfg.Size)}, nil
		},
		Receiver: func(cfg Config) (Receiver, error) {
			e, err := openEndpoint(cfg)
			if err != nil {
				return nil, err
			}
			e.info.Batch = 1
			return &connReceiver{connEnd: connEnd{conn: e.conn.PacketConn(), endpoint: e}, buf: make([]byte, cfg.Size+1), expired: true}, nil
		},
		Peer: func(cfg Config) (Peer, error) {
			e, err := openEndpoint(cfg)
			if err != nil {
				return nil, err
			}
			if _, err := e.warm(cfg); err != nil {
				return nil, errors.Join(err, e.Close())
			}
			return newConnPeer(connEnd{conn: e.conn.PacketConn(), endpoint: e}, cfg), nil
		},
	}
}

// udpConnPath is package net's UDPConn.
func udpConnPath() Path {
	return Path{
		Name: "udpconn", Fragments: true,
		Extra: []Kind{Stream},
		Sender: func(cfg Config) (Sender, error) {
			e, err := openUDPConn(cfg)
			if err != nil {
				return nil, err
			}
			return &connSender{connEnd: *e, buf: make([]byte, cfg.Size)}, nil
		},
		Receiver: func(cfg Config) (Receiver, error) {
			e, err := openUDPConn(cfg)
			if err != nil {
				return nil, err
			}
			return &connReceiver{connEnd: *e, buf: make([]byte, cfg.Size+1), expired: true}, nil
		},
		Peer: func(cfg Config) (Peer, error) {
			e, err := openUDPConn(cfg)
			if err != nil {
				return nil, err
			}
			return newConnPeer(*e, cfg), nil
		},
	}
}

// A connEnd is one side, over either.
type connEnd struct {
	conn     conn
	endpoint *endpoint // of the PacketConn
	kernel   *net.UDPConn
	info     Info
}

func openUDPConn(cfg Config) (*connEnd, error) {
	// A socket of ours finds out how much buffer can be had.
	probe, err := openUDP(cfg)
	if err != nil {
		return nil, err
	}
	info := probe.info
	if err := probe.Close(); err != nil {
		return nil, err
	}
	c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(cfg.Local), net.UDPAddrFromAddrPort(cfg.Peer))
	if err != nil {
		return nil, fmt.Errorf("open net.UDPConn: %w", err)
	}
	e := &connEnd{conn: c, kernel: c, info: info}
	raw, err := c.SyscallConn()
	if err == nil {
		ctl := raw.Control(func(fd uintptr) { err = (&udpSocket{fd: int(fd)}).setBuffers(cfg) })
		err = errors.Join(ctl, err)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return e, nil
}

// Info implements End.
func (e *connEnd) Info() Info {
	if e.endpoint != nil {
		return e.endpoint.info
	}
	return e.info
}

// Counters implements End.
func (e *connEnd) Counters() (loss.Counts, error) {
	if e.endpoint != nil {
		return e.endpoint.Counters()
	}
	raw, err := e.kernel.SyscallConn()
	if err != nil {
		return nil, err
	}
	var drops uint32
	ctl := raw.Control(func(fd uintptr) { drops, err = sys.SocketDrops(int(fd)) })
	if err := errors.Join(ctl, err); err != nil {
		return nil, fmt.Errorf("read drops of net.UDPConn: %w", err)
	}
	return loss.Counts{{Place: loss.Socket, N: uint64(drops)}}, nil
}

// Close implements End.
func (e *connEnd) Close() error { return e.conn.Close() }

// A connSender is the sending side.
type connSender struct {
	connEnd
	buf []byte
}

// Reserve lends the one buffer.
func (s *connSender) Reserve(bufs [][]byte) (int, error) {
	bufs[0] = s.buf
	return 1, nil
}

// Send writes it.
func (s *connSender) Send(int) (int, error) {
	_, err := s.conn.Write(s.buf)
	if err = dropLost(err); err != nil {
		return 0, err
	}
	return 1, nil
}

// Flush implements stream.Sender.
func (s *connSender) Flush() (int, error) {
	if s.endpoint == nil {
		return 0, nil
	}
	return s.endpoint.drain()
}

// A connReceiver is the receiving side.
type connReceiver struct {
	connEnd
	buf     []byte
	expired bool // the deadline has passed, or there was none yet
}

// Receive reads one datagram. The deadline is set anew now and then only: to set
// it for each would cost more than to read.
func (r *connReceiver) Receive(ctx context.Context, views [][]byte) (int, error) {
	if r.expired {
		if err := r.conn.SetReadDeadline(time.Now().Add(receiveWait)); err != nil {
			return 0, err
		}
		r.expired = false
	}
	n, _, err := r.conn.ReadFromUDPAddrPort(r.buf)
	if err != nil {
		if r.expired = errors.Is(err, os.ErrDeadlineExceeded); r.expired || ctx.Err() != nil {
			err = nil
		}
		return 0, err
	}
	views[0] = r.buf[:n]
	return 1, nil
}

var _ conn = (*udp.PacketConn)(nil)
