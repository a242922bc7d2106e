// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/control"
	"github.com/xdpath/xdpath/examples/camera/device"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// regAcquisition is where camera.xml of the device has the start of the stream.
const regAcquisition = 0xa014

const (
	// ring is the receiver's: room for nine images at MTU 1500, as the socket's buffer
	// has for more. A machine that is busy with other things needs it.
	ring = 8192
	// pause is how long packets may collect in it.
	pause = 500 * time.Microsecond
)

// virtual is a virtual camera, and the receiver's control of it.
type virtual struct {
	dev    *device.Device
	client *control.Client
	stopIt context.CancelFunc
	ended  chan error // of the device and of keeping control
}

func openXDP(ctx context.Context, n *network, mtu int, p plan) (*way, error) {
	v := &virtual{ended: make(chan error, 2)}
	var life context.Context
	life, v.stopIt = context.WithCancel(context.WithoutCancel(ctx))
	err := n.a.do(func() (err error) {
		v.dev, err = device.Open(ctx, device.Config{
			Interface: n.a.name, Width: p.width, Height: p.height, Rate: p.rate, PacketSize: mtu, Delay: p.delay, Images: kept,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() { v.ended <- v.dev.Run(life) }()
	w := &way{camera: v}
	err = n.b.do(func() (err error) {
		if v.client, err = control.Dial(control.Config{Camera: netip.AddrPortFrom(n.a.addr, 0)}); err != nil {
			return err
		}
		f, err := intake.OpenFast(ctx, udp.Config{
			Interface: n.b.name, Local: netip.AddrPortFrom(n.b.addr, 0), Wait: xsk.Block, RingSize: ring,
		}, n.a.addr)
		if err == nil {
			f.Pause = pause
			w.source = f
		}
		return err
	})
	if err == nil {
		err = v.client.Take(ctx)
	}
	if err != nil {
		v.stopIt()
		return nil, errors.Join(err, <-v.ended)
	}
	go func() { v.ended <- v.client.Keep(life) }()
	return w, nil
}

func (v *virtual) start(ctx context.Context, port uint16) error {
	if err := v.client.OpenStream(ctx, netip.AddrPortFrom(v.client.Local(), port)); err != nil {
		return err
	}
	return v.client.Write(ctx, regAcquisition, 1)
}

func (v *virtual) stop() error { return v.client.Write(context.Background(), regAcquisition, 0) }

func (v *virtual) sent() (images, skipped uint64) {
	st := v.dev.Stats()
	return st.Images, st.Skipped + st.Failed
}

func (v *virtual) close() error {
	err := v.client.Leave(context.Background())
	v.stopIt()
	return errors.Join(err, <-v.ended, <-v.ended, v.client.Close())
}
