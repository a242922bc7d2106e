// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// train sends n packets of the image in place i, from packet id on.
func (d *Device) train(ctx context.Context, i int, img *image, id uint32, n int) error {
	if n == 0 {
		return nil
	}
	_, sent := d.store.look(i)
	_, off, _ := img.packet(id, gv.OK, make([]byte, maxHeader))
	t := train{
		off: off, len: min(n*img.payload, img.off+img.len-off), size: img.payload, first: id,
		gap: time.Duration(d.gap.Load()), cookie: d.store.read(i),
		header: func(id uint32, room []byte) int {
			sent.Store(id)
			h, _, _ := img.packet(id, gv.OK, room)
			return h
		},
	}
	k, err := d.out.train(ctx, t)
	d.counts.packets.Add(uint64(k))
	return err
}

// single sends one packet of the image in place i, for the first time if the status
// is OK.
func (d *Device) single(ctx context.Context, i int, img *image, id uint32, status gv.Status) error {
	var room [maxHeader]byte
	h, off, n := img.packet(id, status, room[:])
	one := single{header: room[:h], off: off, n: n}
	if status == gv.OK {
		one.gap = time.Duration(d.gap.Load())
		_, sent := d.store.look(i)
		sent.Store(max(sent.Load(), id))
	}
	if n > 0 {
		one.cookie = d.store.read(i)
	}
	if err := d.out.single(ctx, one); err != nil {
		return err
	}
	if status == gv.OK {
		d.counts.packets.Add(1)
	}
	return nil
}

// reap takes in what nobody reads any more.
func (d *Device) reap() {
	var cookies [64]uint64
	for {
		n := d.out.completed(cookies[:])
		d.store.done(cookies[:n]...)
		if n < len(cookies) {
			return
		}
	}
}
