// SPDX-License-Identifier: MIT

package device

import (
	"context"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// backlog is how many requests to resend may wait. More at a time are not
	// looked at: the stream matters more than its repair.
	backlog = 1024
	// refusals is how many packets a request for what is gone is answered with.
	refusals = 16
)

// resend takes a request; it is served by serveResends.
func (d *Device) resend(r gv.Resend) {
	d.counts.requests.Add(1)
	select {
	case d.resends <- r:
	default:
		d.counts.overflow.Add(1)
	}
}

// serveResends serves requests until ctx ends. It is beside the stream: what is asked
// for goes out between the packets of the image that is being sent.
func (d *Device) serveResends(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-d.resends:
			if err := d.serve(ctx, r); err != nil {
				d.note(err)
			}
		}
	}
}

// serve sends packets again, from the same bytes as at first, or says why not.
func (d *Device) serve(ctx context.Context, r gv.Resend) error {
	i, status := d.store.borrow(r.Block, r.Extended)
	if status.IsError() {
		d.counts.impossible.Add(1)
		return d.refuse(ctx, r, status)
	}
	defer d.store.done(uint64(i) + 1)
	img, sent := d.store.look(i)
	last := min(r.Last, img.trailer())
	if r.First > last && r.First <= r.Last {
		d.counts.impossible.Add(1)
		return d.refuse(ctx, gv.Resend{Block: r.Block, First: r.First, Last: r.First, Extended: r.Extended}, gv.Unavailable)
	}
	if r.First > last {
		return nil // backwards
	}
	// What was never sent comes by itself.
	if latest := sent.Load(); last > latest {
		d.counts.early.Add(uint64(last) + 1 - uint64(max(latest+1, r.First)))
		last = latest
	}
	if r.First > last {
		return nil
	}
	want := int(last-r.First) + 1
	may := d.store.allow(i, want)
	d.counts.beyond.Add(uint64(want - may))
	for id := r.First; may > 0; may-- {
		if err := d.single(ctx, i, &img, id, gv.Resent); err != nil {
			return err
		}
		d.counts.resent.Add(1)
		id++
	}
	return nil
}

// refuse answers a request with packets that have nothing but a status.
func (d *Device) refuse(ctx context.Context, r gv.Resend, status gv.Status) error {
	var room [maxHeader]byte
	for n := uint32(0); n < refusals && r.First+n <= r.Last; n++ {
		h := gv.Packet{Status: status, Block: r.Block, Kind: gv.PartPayload, ID: r.First + n, Extended: r.Extended}.PutHeader(room[:])
		if err := d.out.single(ctx, single{header: room[:h]}); err != nil {
			return err
		}
		if r.First+n == ^uint32(0) {
			break
		}
	}
	return nil
}
