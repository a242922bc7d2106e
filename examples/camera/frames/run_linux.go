// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/examples/camera/pattern"
)

// warmUp is the first part of each slice, for which no processor time is charged.
const warmUp = 250 * time.Millisecond

// row is what one way did at one MTU.
type row struct {
	mtu      int
	via      string
	measured time.Duration // charged for
	busy     time.Duration // of all processors, in that time
	bytes    uint64        // of complete images, in that time

	sent, skipped     uint64
	complete          uint64
	checked, wrong    uint64 // images whose every byte was looked at
	missing           uint64 // packets
	wire, ring, other uint64 // where they were lost
}

// run runs the plan, and returns a row for each MTU and way, as far as it came.
func (p plan) run(ctx context.Context, w io.Writer) (rows []*row, err error) {
	for _, mtu := range p.mtus {
		n, err := newNetwork(mtu)
		if err != nil {
			return rows, err
		}
		here := make([]*row, len(p.vias))
		for i, via := range p.vias {
			here[i] = &row{mtu: mtu, via: via}
		}
		rows = append(rows, here...)
		for spent := time.Duration(0); spent < p.duration && err == nil; spent += p.slice {
			for _, r := range here {
				if err = p.turn(ctx, n, r); err != nil {
					break
				}
				fmt.Fprintf(w, "MTU %d, %-4s  %d of %d images complete\n", mtu, r.via, r.complete, r.sent+r.skipped)
			}
		}
		if err = errors.Join(err, n.close()); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// turn has one way stream for a slice of time.
func (p plan) turn(ctx context.Context, n *network, r *row) (err error) {
	w, err := ways[r.via](ctx, n, r.mtu, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	in, err := intake.New(assemble.Config{PacketSize: r.mtu, Buffers: p.buffers}, nil)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	received, looked := make(chan error, 1), make(chan error, 1)
	go func() { received <- w.source.Receive(work, in) }()
	go func() { looked <- r.look(in, p) }()

	err = w.camera.start(ctx, w.source.Port())
	if err == nil {
		err = r.measure(ctx, in, p)
	}
	err = errors.Join(err, w.camera.stop())
	arrive(w, in)
	stop()
	err = errors.Join(err, <-received)
	in.Close()
	err = errors.Join(err, <-looked)
	return errors.Join(err, r.account(n, w, in))
}

// arrive waits for what has been sent and is on its way, as long as that can take.
func arrive(w *way, in *intake.Intake) {
	for giveUp := time.Now().Add(time.Second); time.Now().Before(giveUp); time.Sleep(time.Millisecond) {
		sent, _ := w.camera.sent()
		if c := in.Counters(); c.CompletedBuffers+c.Failures+c.Underruns >= sent {
			return
		}
	}
}

// measure waits for the end of the slice, and charges for it.
func (r *row) measure(ctx context.Context, in *intake.Intake, p plan) error {
	if err := sleep(ctx, warmUp); err != nil {
		return err
	}
	before := in.Counters().CompletedBuffers
	began, err := read()
	if err != nil {
		return err
	}
	if err := sleep(ctx, p.slice-warmUp); err != nil {
		return err
	}
	ended, err := read()
	if err != nil {
		return err
	}
	r.measured += ended.at.Sub(began.at)
	r.busy += ended.busy(began)
	r.bytes += (in.Counters().CompletedBuffers - before) * uint64(p.bytes())
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look takes the images, and compares one in a second with what the camera draws.
func (r *row) look(in *intake.Intake, p plan) error {
	draw, err := pattern.New(gv.Mono8, p.width, p.height)
	want := make([]byte, p.bytes())
	n := 0
	for m := range in.Images() {
		if err == nil && m.Status == assemble.Complete {
			if n++; n%max(int(p.rate), 1) == 1 {
				draw.Draw(want, m.ID)
				r.checked++
				if !bytes.Equal(want, m.Data) {
					r.wrong++
				}
			}
		}
		in.Release(m)
	}
	return err
}

// account adds what a slice came to.
func (r *row) account(n *network, w *way, in *intake.Intake) error {
	c := in.Counters()
	var drops intake.Drops
	err := n.b.do(func() (err error) { drops, err = w.source.Drops(); return err })
	sent, skipped := w.camera.sent()
	loss := c.Loss(drops.All())
	r.sent, r.skipped = r.sent+sent, r.skipped+skipped
	r.complete += c.CompletedBuffers
	r.missing += c.MissingPackets
	r.wire, r.ring, r.other = r.wire+loss.Wire, r.ring+loss.Ring, r.other+loss.Consumer
	return err
}
