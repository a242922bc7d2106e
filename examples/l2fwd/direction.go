// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

const (
	// batch is how many frames are taken at once. Ring indexes and locks are
	// touched once a batch, the kernel is called once a batch.
	batch = 64
	// retry is how long frames that the kernel left in the TX ring wait for the
	// next attempt when no new ones come.
	retry = time.Millisecond
)

// direction carries frames from one interface to another, or back to the same.
//
// It is driven by one goroutine: two directions share no lock, since a socket's
// receiving half is used by the one and its sending half by the other. The counters
// may be read by anybody.
type direction struct {
	in, out *nic

	received atomic.Uint64
	sent     atomic.Uint64 // put into the TX ring
	full     atomic.Uint64 // dropped, the TX ring had no room
	tooLong  atomic.Uint64 // dropped, longer than the other interface takes
}

// run forwards until ctx ends, and returns its error.
func (d *direction) run(ctx context.Context) error {
	frames := make([]umem.Frame, batch)
	for {
		n, err := d.in.socket.ReceiveContext(ctx, frames)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		// These n frames are ours, and forward gets rid of every one.
		if err := d.forward(frames[:n]); err != nil {
			return err
		}
		left, err := d.flush()
		if err != nil {
			return err
		}
		var deadline time.Time // none
		if left > 0 {
			deadline = time.Now().Add(retry)
		}
		d.in.socket.SetReceiveDeadline(deadline)
	}
}

// forward swaps the addresses of received frames and sends them. Frames that
// cannot be sent are dropped, as a switch does, and their chunks go back to the
// fill ring: all frames have left our hands when it returns, error or not.
func (d *direction) forward(frames []umem.Frame) error {
	d.received.Add(uint64(len(frames)))
	if err := d.swap(frames); err != nil {
		return errors.Join(err, d.in.socket.Release(frames))
	}
	for flushed := false; len(frames) > 0; {
		n, err := d.out.socket.Send(frames)
		d.sent.Add(uint64(n))
		frames = frames[n:] // the first n are the kernel's now: not to be touched
		drop := 0
		switch {
		case errors.Is(err, xsk.ErrLength):
			drop = 1
			d.tooLong.Add(1)
		case err != nil:
			return errors.Join(err, d.in.socket.Release(frames))
		case len(frames) > 0 && flushed: // no room came of it: more comes in than goes out
			drop = len(frames)
			d.full.Add(uint64(drop))
		case len(frames) > 0:
			if _, err := d.flush(); err != nil {
				return errors.Join(err, d.in.socket.Release(frames))
			}
			flushed = true
		}
		if err := d.in.socket.Release(frames[:drop]); err != nil {
			return err
		}
		frames = frames[drop:]
	}
	return nil
}

// swap exchanges destination and source MAC address, the first twelve bytes.
func (d *direction) swap(frames []umem.Frame) error {
	area := d.in.socket.Area()
	for _, f := range frames {
		b, err := area.Bytes(f) // a view into the area, not a copy
		if err != nil {
			return err
		}
		var dst [6]byte
		copy(dst[:], b)
		copy(b, b[6:12])
		copy(b[6:], dst[:])
	}
	return nil
}

// flush tells the kernel to send what is in the TX ring, which also brings back the
// chunks of earlier frames. It returns how many frames the kernel left there.
func (d *direction) flush() (left int, err error) {
	left, err = d.out.socket.Flush()
	if errors.Is(err, xsk.ErrLost) || errors.Is(err, xsk.ErrLinkDown) {
		err = nil // counted in Stats, or still queued: the link may come back
	}
	return left, err
}
