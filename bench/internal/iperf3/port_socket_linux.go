// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	socketBatch  = 16      // sends before the clock is looked at, one call each
	socketBuffer = 4 << 20 // bytes, as far as the system's limit goes
)

// socketPort is a Port over an ordinary socket.
type socketPort struct{ conn *net.UDPConn }

// OpenSocket opens a port with a UDP socket.
func OpenSocket(local netip.AddrPort) (Port, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
	if err != nil {
		return nil, err
	}
	// Less than that is what the system allows, and works.
	_, _ = conn.SetReadBuffer(socketBuffer), conn.SetWriteBuffer(socketBuffer)
	return &socketPort{conn}, nil
}

func (p *socketPort) Batch() int     { return socketBatch }
func (p *socketPort) Close() error   { return p.conn.Close() }
func (p *socketPort) String() string { return fmt.Sprintf("socket %v", p.conn.LocalAddr()) }

// Run reads one datagram a call.
func (p *socketPort) Run(ctx context.Context, handle func([]Datagram)) error {
	if err := p.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = p.conn.SetReadDeadline(time.Unix(1, 0)) // if it is closed, the read knows
	})
	err := p.read(ctx, handle)
	if !stop() {
		<-interrupted // or its deadline would hit the next Run
	}
	return err
}

func (p *socketPort) read(ctx context.Context, handle func([]Datagram)) error {
	buf, one := make([]byte, MaxSize+1), make([]Datagram, 1)
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ECONNREFUSED):
			continue // somebody we sent to has gone; its test will notice
		case err != nil:
			return err
		}
		one[0] = Datagram{From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), Payload: buf[:n], Size: n}
		handle(one)
	}
}

func (p *socketPort) Sender(to netip.AddrPort) (Sender, error) {
	return &socketSender{conn: p.conn, to: to, buf: make([]byte, MaxSize)}, nil
}

type socketSender struct {
	conn *net.UDPConn
	to   netip.AddrPort
	buf  []byte
}

func (s *socketSender) Send(ctx context.Context, n, size int, fill func([]byte)) (int, error) {
	for sent := range n {
		if ctx.Err() != nil {
			return sent, ctx.Err()
		}
		fill(s.buf[:size])
		if err := s.write(ctx, s.buf[:size]); err != nil {
			return sent, err
		}
	}
	return n, nil
}

// write waits out a device whose queue is full.
func (s *socketSender) write(ctx context.Context, b []byte) error {
	for {
		_, err := s.conn.WriteToUDPAddrPort(b, s.to)
		if !errors.Is(err, unix.ENOBUFS) {
			return err
		}
		select {
		case <-time.After(100 * time.Microsecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Flush has nothing to do: a socket keeps what it took, and sends it.
func (s *socketSender) Flush(context.Context) error { return nil }
