// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// forwarder is the one or two interfaces and the ways between them.
type forwarder struct {
	nics       []*nic
	directions []*direction
}

// newForwarder opens the interfaces with the given names on area, which stays the
// caller's. One name makes an echo.
func newForwarder(area *umem.Area, names []string, queue int, port uint16) (*forwarder, error) {
	f := &forwarder{}
	for _, name := range names {
		n, err := openNIC(area, name, queue, port)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.nics = append(f.nics, n)
	}
	for i, in := range f.nics {
		f.directions = append(f.directions, &direction{in: in, out: f.nics[len(f.nics)-1-i]})
	}
	return f, nil
}

// run forwards, one goroutine for each direction, until ctx ends or something
// breaks, and returns why. It reports to w each second.
func (f *forwarder) run(ctx context.Context, w io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, d := range f.directions {
		wg.Go(func() { stop(d.run(ctx)) })
	}
	wg.Go(func() { f.report(ctx, w) })
	wg.Wait()
	return context.Cause(ctx)
}

// report writes the counters each second until ctx ends.
func (f *forwarder) report(ctx context.Context, w io.Writer) {
	last := make([]uint64, len(f.directions))
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		for i, d := range f.directions {
			sent := d.sent.Load()
			fmt.Fprintf(w, "%v: %d frames/s\n", d, sent-last[i])
			last[i] = sent
		}
	}
}

// String tells where the direction goes and what became of all frames so far.
func (d *direction) String() string {
	// Where these two are asked and do not answer, their own counts are valid.
	in, _ := d.in.socket.Stats()
	out, _ := d.out.socket.Stats()
	return fmt.Sprintf("%s > %s: %d received, %d sent; lost: %d before reception, %d too long, %d ring full, %d refused by the device",
		d.in.name, d.out.name, d.received.Load(), d.sent.Load(), in.RxLost(), d.tooLong.Load(), d.full.Load(), out.TxLost)
}

// close detaches all programs first, then closes all sockets.
func (f *forwarder) close() error {
	var errs []error
	for _, n := range f.nics {
		errs = append(errs, n.detach())
	}
	for _, n := range f.nics {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}
