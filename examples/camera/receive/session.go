// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/control"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/udp"
)

// closing is how long the camera may take to be told that it is over.
const closing = 2 * time.Second

// receive has the camera stream until ctx ends or -duration is over.
func receive(ctx context.Context, cfg config, w io.Writer) (err error) {
	if cfg.camera, err = find(ctx, cfg); err != nil {
		return err
	}
	client, err := control.Dial(control.Config{Camera: netip.AddrPortFrom(cfg.camera, 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	s := &session{cfg: cfg, client: client, w: w}
	if s.who, err = client.Identity(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "camera: %s\n", s.name())
	if err := client.Take(ctx); err != nil {
		return err
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer stop()
		if e := client.Leave(ctx); e != nil && err == nil {
			err = e
		}
	}()
	return s.run(ctx)
}

// session is the time in which this program has control of the camera.
type session struct {
	cfg    config
	client *control.Client
	who    gv.Identity
	w      io.Writer

	src   intake.Source
	in    *intake.Intake
	meter *meter
}

func (s *session) name() string {
	return fmt.Sprintf("%s %s %s at %v", s.who.Manufacturer, s.who.Model, s.who.Serial, s.cfg.camera)
}

// run keeps control, and ends when it is lost.
func (s *session) run(ctx context.Context) (err error) {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if err := s.client.Keep(ctx); err != nil {
			lost(err)
		}
	}()
	defer func() {
		lost(nil)
		<-kept
	}()
	if err := s.open(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	err = s.stream(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, control.ErrLost) {
		err = errors.Join(err, cause)
	}
	return errors.Join(err, s.close())
}

// open gets all ready, up to the point where the camera may begin: what it sends at
// once is received.
func (s *session) open(ctx context.Context) (err error) {
	can := false
	if s.cfg.resend {
		if can, err = s.client.CanResend(ctx); err != nil {
			return err
		}
	}
	if s.cfg.stream.PacketSize, err = s.packetSize(ctx); err != nil {
		return err
	}
	var resend func(gv.Resend) error
	if can {
		resend = s.client.Resend
	}
	if s.in, err = intake.New(s.cfg.stream, resend); err != nil {
		return err
	}
	if s.src, err = s.openSource(ctx); err != nil {
		return err
	}
	s.meter = newMeter(s.in, s.src)
	fmt.Fprintf(s.w, "stream: packets of %d bytes, resend %s\n", s.cfg.stream.PacketSize, map[bool]string{true: "on", false: "off"}[can])
	fmt.Fprintf(s.w, "%v\n", s.src)
	return nil
}

// packetSize agrees with the camera on one.
func (s *session) packetSize(ctx context.Context) (int, error) {
	size := s.cfg.size
	i, err := facing(s.client.Local())
	if err != nil {
		return 0, err
	}
	if size == 0 {
		size, err = s.client.PacketSize(ctx, i.MTU)
		if errors.Is(err, control.ErrNoTestPackets) {
			size, err = i.MTU, nil
			fmt.Fprintf(s.w, "%v: its packet size will be the MTU, %d\n", control.ErrNoTestPackets, size)
		}
		if err != nil {
			return 0, err
		}
	} else if size > i.MTU {
		fmt.Fprintf(s.w, "packets of %d bytes are larger than the MTU of %s, %d: they come in fragments, if at all\n", size, i.Name, i.MTU)
	}
	if err := s.client.Write(ctx, gv.RegSCPS, uint32(size)|gv.SCPSDontFrag&s.dontFragment(size, i.MTU)); err != nil {
		return 0, err
	}
	// The camera may have another opinion; where payload belongs is by its.
	got, err := s.client.Read(ctx, gv.RegSCPS)
	if err == nil && int(got&gv.SCPSSize) != size {
		fmt.Fprintf(s.w, "the camera makes packets of %d bytes instead of %d\n", got&gv.SCPSSize, size)
	}
	return int(got & gv.SCPSSize), err
}

// dontFragment is all ones for packets that need no fragments.
func (s *session) dontFragment(size, mtu int) uint32 {
	if size > mtu {
		return 0
	}
	return ^uint32(0)
}

func (s *session) openSource(ctx context.Context) (intake.Source, error) {
	local := netip.AddrPortFrom(s.client.Local(), uint16(s.cfg.port))
	if s.cfg.via == "socket" {
		src, err := intake.OpenSocket(local, s.cfg.buffer, s.cfg.camera)
		if err != nil {
			return nil, err
		}
		return src, nil
	}
	src, err := intake.OpenFast(ctx, udp.Config{
		Interface: s.cfg.iface, Local: local, RingSize: s.cfg.ring, ReceiveBuffer: s.cfg.buffer,
	}, s.cfg.camera)
	if err != nil {
		return nil, fmt.Errorf("%w\n-via socket does without AF_XDP", err)
	}
	src.Pause = s.cfg.pause
	return src, nil
}

func (s *session) close() error {
	if s.src == nil {
		return nil
	}
	return s.src.Close()
}
