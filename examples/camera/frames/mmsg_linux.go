// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/examples/camera/pattern"
)

const (
	// many is how many packets a system call takes, as many as the other way.
	many = 64
	// socketBuffer is what may wait in the kernel, its bookkeeping included: some
	// 16,000 packets of 1500 bytes.
	socketBuffer = 36 << 20
)

func openMmsg(ctx context.Context, n *network, mtu int, p plan) (*way, error) {
	draw, err := pattern.New(gv.Mono8, p.width, p.height)
	if err != nil {
		return nil, err
	}
	c := &plain{to: n.b.addr, mtu: mtu, p: p, draw: draw, store: make([]byte, kept*p.bytes())}
	if err := n.a.do(func() (err error) { c.conn, err = socket(n.a.addr); return err }); err != nil {
		return nil, err
	}
	var conn *net.UDPConn
	if err := n.b.do(func() (err error) { conn, err = socket(n.b.addr); return err }); err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	return &way{c, &batches{Socket: intake.NewSocket(conn, n.a.addr), conn: conn, mtu: mtu}}, nil
}

// socket opens a socket with large buffers.
func socket(addr netip.Addr) (*net.UDPConn, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	if err != nil {
		return nil, fmt.Errorf("frames: %w", err)
	}
	if err := errors.Join(intake.SetReceiveBuffer(conn, socketBuffer), conn.SetWriteBuffer(socketBuffer/2)); err != nil {
		return nil, errors.Join(fmt.Errorf("frames: socket buffers: %w", err), conn.Close())
	}
	return conn, nil
}

// plain is a camera that sends by sendmmsg.
type plain struct {
	conn  *net.UDPConn
	to    netip.Addr
	mtu   int
	p     plan
	draw  *pattern.Pattern
	store []byte // the latest images, as many as the other way's camera keeps

	images, skipped uint64 // until it has stopped, the sender's own
	quit            chan struct{}
	done            chan error
}

func (c *plain) start(ctx context.Context, port uint16) error {
	c.quit, c.done = make(chan struct{}), make(chan error, 1)
	go func() { c.done <- c.run(netip.AddrPortFrom(c.to, port)) }()
	return nil
}

func (c *plain) stop() error {
	close(c.quit)
	return <-c.done
}

func (c *plain) sent() (images, skipped uint64) { return c.images, c.skipped }
func (c *plain) close() error                   { return c.conn.Close() }

// run sends images, each when its time has come, until it is told to stop.
func (c *plain) run(to netip.AddrPort) error {
	var trains []*train // one for each place
	for b := range slices.Chunk(c.store, c.p.bytes()) {
		trains = append(trains, newTrain(c, b, net.UDPAddrFromAddrPort(to)))
	}
	period := time.Duration(float64(time.Second) / c.p.rate)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for due := time.Now(); ; {
		select {
		case <-c.quit:
			return nil
		case <-alarm.C:
		}
		c.images++
		out := trains[c.images%kept]
		c.draw.Draw(out.image, c.images)
		if err := out.send(c.images); err != nil {
			return err
		}
		due = due.Add(period)
		if late := time.Since(due); late >= period {
			n := late / period
			c.skipped += uint64(n)
			due = due.Add(n * period)
		}
		alarm.Reset(time.Until(due))
	}
}

// batches is the receiving end, by recvmmsg.
type batches struct {
	*intake.Socket
	conn *net.UDPConn
	mtu  int
}

func (b *batches) String() string { return "recvmmsg: " + b.Socket.String() }

// Receive is as that of an ordinary socket, many packets at a time.
func (b *batches) Receive(ctx context.Context, in *intake.Intake) error {
	stop := context.AfterFunc(ctx, func() { b.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn := ipv4.NewPacketConn(b.conn)
	ms := make([]ipv4.Message, many)
	for i := range ms {
		ms[i].Buffers = [][]byte{make([]byte, b.mtu)}
	}
	packet := func(i int) ([]byte, [][]byte) { return ms[i].Buffers[0][:ms[i].N], nil }
	empty := false // the last wait was in vain
	for ctx.Err() == nil {
		n, err := conn.ReadBatch(ms, 0)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if empty {
				in.Idle()
			}
			empty = !empty
			b.conn.SetReadDeadline(time.Now().Add(look))
			continue
		case err != nil:
			return fmt.Errorf("frames: recvmmsg: %w", err)
		}
		in.Take(n, packet, n < many)
		empty = false
	}
	return nil
}

// look is how often it is looked for what is due while no packets come, twice.
const look = 5 * time.Millisecond
