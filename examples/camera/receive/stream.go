// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// stream receives until ctx ends, with all that happens beside it.
func (s *session) stream(ctx context.Context) error {
	consumer, err := s.consumer()
	if err != nil {
		return err
	}
	// What receives goes on for a little after ctx has ended: for what the camera has
	// sent by then.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.src.Receive(work, s.in) }()
	consumed := make(chan error, 1)
	go func() { consumed <- consumer.run(s.in) }()

	err = s.start(ctx)
	if err == nil {
		err = s.wait(ctx, ended)
	}
	err = errors.Join(err, s.end(ctx))
	s.drain()
	stop()
	select {
	case e := <-ended:
		err = errors.Join(err, e)
	case <-time.After(closing):
		err = errors.Join(err, errors.New("receive: the stream does not end"))
	}
	s.in.Close()
	err = errors.Join(err, <-consumed, consumer.close())
	s.meter.sample(time.Now())
	fmt.Fprint(s.w, s.meter.end())
	return err
}

// start has the camera begin.
func (s *session) start(ctx context.Context) error {
	if s.cfg.delay >= 0 {
		if err := s.write(ctx, gv.Write{Address: gv.RegSCPD, Value: uint32(s.cfg.delay)}); err != nil {
			return err
		}
	}
	to := netip.AddrPortFrom(s.client.Local(), s.src.Port())
	if err := s.client.OpenStream(ctx, to); err != nil {
		return err
	}
	for _, r := range s.cfg.writes {
		if err := s.write(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// write writes a register and tells if it then has another value. Registers that are
// commands do, and some cannot be read.
func (s *session) write(ctx context.Context, r gv.Write) error {
	if err := s.client.Write(ctx, r.Address, r.Value); err != nil {
		return err
	}
	if got, err := s.client.Read(ctx, r.Address); err == nil && got != r.Value {
		fmt.Fprintf(s.w, "register %#06x has the value %d, %d was written\n", r.Address, got, r.Value)
	}
	return nil
}

// wait prints how it goes until it is time to end. The error of a receiver that has
// ended is put back, for who waits for that.
func (s *session) wait(ctx context.Context, ended chan error) error {
	if s.cfg.duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, s.cfg.duration)
		defer stop()
	}
	sample := time.NewTicker(sampling)
	defer sample.Stop()
	var due <-chan time.Time
	if s.cfg.interval > 0 {
		lines := time.NewTicker(s.cfg.interval)
		defer lines.Stop()
		due = lines.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			return nil
		case <-sample.C:
			s.meter.sample(time.Now())
		case <-due:
			fmt.Fprintln(s.w, s.meter.line(time.Now()))
		}
	}
}

// end tells the camera that it is over.
func (s *session) end(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.stream.FrameRetention+2*closing)
	defer stop()
	var errs []error
	for _, r := range s.cfg.ends {
		errs = append(errs, s.client.Write(ctx, r.Address, r.Value))
	}
	if len(s.cfg.ends) > 0 {
		s.drain() // once the channel is closed, the camera sends nothing again
	}
	return errors.Join(append(errs, s.client.CloseStream(ctx))...)
}

// drain waits until no image is in flight any more: each is complete, or has been
// given up. What still comes then is of a camera that has not obeyed.
func (s *session) drain() {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	giveUp := time.After(s.cfg.stream.FrameRetention + closing)
	for s.in.InFlight() > 0 {
		select {
		case <-look.C:
		case <-giveUp:
			return
		}
	}
}
