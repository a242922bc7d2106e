// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/udp"
)

// Device is a camera: a control port and a stream. Open makes one, Run is its life.
type Device struct {
	cfg     Config
	socket  *net.UDPConn // of the control protocol
	out     transport
	store   *store
	control *control // Run's, and what it calls
	current *stream  // likewise; nil: not streaming
	life    context.Context

	resends chan gv.Resend
	period  atomic.Int64 // nanoseconds from image to image
	gap     atomic.Int64 // nanoseconds from packet to packet
	counts  counters
	latest  atomic.Pointer[error] // why something could not be sent

	closing sync.Once
	closed  error
}

// Run obeys commands and streams until ctx ends, which is no error, or until there is
// no use in going on. It closes the Device.
func (d *Device) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.life = ctx
	context.AfterFunc(ctx, func() { d.socket.Close() }) // ends the reading
	var helpers sync.WaitGroup
	helpers.Go(func() { d.serveResends(ctx) })
	helpers.Go(func() {
		if err := d.out.wait(ctx); err != nil {
			cancel(err)
		}
	})
	err := d.obey(ctx)
	d.stop()
	if cause := context.Cause(ctx); cause != nil {
		err = nil
		if !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
			err = cause
		}
	}
	cancel(nil)
	helpers.Wait()
	return errors.Join(err, d.Close())
}

// obey answers commands until the socket is closed.
func (d *Device) obey(ctx context.Context) error {
	in, out := make([]byte, 1<<16), make([]byte, 0, gv.HeaderSize+gv.MaxBody)
	c := d.control
	for {
		if err := d.socket.SetReadDeadline(c.deadline()); err != nil {
			return fmt.Errorf("device: control: %w", err)
		}
		n, from, err := d.socket.ReadFromUDPAddrPort(in)
		now := time.Now()
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			c.expire(now)
		case errors.Is(err, net.ErrClosed) || ctx.Err() != nil:
			return nil
		case err != nil: // the link is down, say
			d.note(err)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		default:
			from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
			if reply := c.answer(out, from, in[:n], now); reply != nil {
				d.reply(reply, from)
			}
		}
		d.publish(c.counts)
	}
}

// reply answers. Who looks for cameras may have an address of another network, which
// there is no way to: it hears the answer if everybody does.
func (d *Device) reply(b []byte, to netip.AddrPort) {
	_, err := d.socket.WriteToUDPAddrPort(b, to)
	if ack, e := gv.ParseAck(b); err != nil && e == nil && ack.Kind == gv.Discovery.Ack() {
		_, err = d.socket.WriteToUDPAddrPort(b, netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), to.Port()))
	}
	if err != nil {
		d.note(err)
	}
}

// note remembers why something could not be sent.
func (d *Device) note(err error) {
	if !errors.Is(err, context.Canceled) {
		d.latest.Store(&err)
	}
}

// Latest is why something could not be sent at last, nil if nothing was.
func (d *Device) Latest() error {
	if p := d.latest.Load(); p != nil {
		return *p
	}
	return nil
}

// publish makes the counters of control ones that others may read.
func (d *Device) publish(n controlCounts) {
	d.counts.commands.Store(n.Commands)
	d.counts.malformed.Store(n.Malformed)
	d.counts.refused.Store(n.Refused)
	d.counts.heartbeats.Store(n.Heartbeats)
}

// The actions that commands ask for.

func (d *Device) aim(dst netip.AddrPort) { d.out.aim(dst) }
func (d *Device) mtu() int               { return d.out.mtu() }

func (d *Device) start(s settings) error {
	st, err := d.newStream(s)
	if err != nil {
		return err
	}
	// Until now, packets of the stream before could still be asked for.
	d.store.forget()
	d.change(s)
	var ctx context.Context
	ctx, st.cut = context.WithCancel(d.life)
	d.current = st
	go st.run(ctx)
	return nil
}

func (d *Device) stop() {
	if d.current != nil {
		d.current.stop()
		d.current = nil
	}
}

func (d *Device) change(s settings) {
	d.period.Store(int64(s.period()))
	d.gap.Store(int64(s.gap))
}

func (d *Device) test(n int) error {
	ctx, cancel := context.WithTimeout(d.life, patience)
	defer cancel()
	d.counts.tests.Add(1)
	// Of the datagram only the length matters. Nothing is being drawn now.
	header := make([]byte, gv.HeaderSize)
	err := d.out.single(ctx, single{header: header, n: n - len(header)})
	if errors.Is(err, udp.ErrLost) {
		return nil // as on any link, and the viewer finds out
	}
	return err
}

// String says how it streams.
func (d *Device) String() string { return d.out.String() }

// Gaps are the times from packet to packet that were achieved, with a histogram; empty
// if there was no delay.
func (d *Device) Gaps() string { return d.out.gaps() }

// Close gives everything up. Run does it too.
func (d *Device) Close() error {
	d.closing.Do(func() {
		err := d.socket.Close()
		if errors.Is(err, net.ErrClosed) {
			err = nil
		}
		d.closed = errors.Join(err, d.out.close())
	})
	return d.closed
}
