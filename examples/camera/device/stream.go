// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/pattern"
)

// patience is how long the image that is being sent may take when the stream is
// stopped; then it is cut off.
const patience = 500 * time.Millisecond

// stream is the sending of images from one start to the next stop.
type stream struct {
	d     *Device
	set   settings
	epoch time.Time // when the camera's clock was 0
	draw  *pattern.Pattern
	dice  *dice
	block uint64 // of the next image

	stopping chan struct{} // closed: no further image
	once     sync.Once
	cut      context.CancelFunc
	done     chan struct{}
}

func (d *Device) newStream(s settings) (*stream, error) {
	p, err := pattern.New(s.format, s.width, s.height)
	if err != nil {
		return nil, err
	}
	return &stream{
		d: d, set: s, epoch: d.control.started, draw: p, dice: newDice(d.cfg.Faults), block: d.cfg.FirstBlock,
		stopping: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// stop ends the stream with the image that is being sent.
func (s *stream) stop() {
	s.once.Do(func() { close(s.stopping) })
	select {
	case <-s.done:
	case <-time.After(patience):
		s.cut()
		<-s.done
	}
	s.cut()
}

// run sends images, each when its time has come. An image whose time is over when it
// could begin is skipped.
func (s *stream) run(ctx context.Context) {
	defer close(s.done)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for due := time.Now(); ; {
		select {
		case <-s.stopping:
			return
		case <-ctx.Done():
			return
		case <-alarm.C:
		}
		if err := s.image(ctx); errors.Is(err, net.ErrClosed) {
			return
		}
		period := time.Duration(s.d.period.Load())
		due = due.Add(period)
		if late := time.Since(due); late >= period {
			n := late / period
			s.d.counts.skipped.Add(uint64(n))
			due = due.Add(n * period)
		}
		alarm.Reset(time.Until(due))
	}
}

// image draws an image and sends it.
func (s *stream) image(ctx context.Context) error {
	d := s.d
	d.reap()
	i, ok := d.store.take()
	if !ok {
		d.counts.skipped.Add(1)
		return nil
	}
	at := time.Since(s.epoch)
	off := i * d.store.size
	s.draw.Draw(d.out.memory()[off:off+d.store.size], s.block)
	img := d.store.begin(i, image{
		block: s.block, extended: s.set.extended, len: s.draw.Bytes(), payload: s.set.payload(),
		packets: uint32(gv.Packets(s.draw.Bytes(), s.set.payload())),
		leader: gv.Leader{
			PayloadType: gv.PayloadImage, Timestamp: uint64(at), PixelFormat: s.set.format,
			Width: uint32(s.set.width), Height: uint32(s.set.height),
		},
	})
	s.block = gv.NextBlock(s.block, s.set.extended)
	err := s.send(ctx, i, &img)
	d.out.rest()
	if err != nil {
		d.counts.failed.Add(1)
		d.note(err)
		return err
	}
	d.counts.images.Add(1)
	return nil
}

// send sends an image: leader, payload, trailer.
func (s *stream) send(ctx context.Context, i int, img *image) error {
	if err := s.part(ctx, i, img, 0); err != nil {
		return err
	}
	for id := uint32(1); id <= img.packets; {
		good, then := s.dice.run(int(img.packets-id) + 1)
		if err := s.d.train(ctx, i, img, id, good); err != nil {
			return err
		}
		id += uint32(good)
		if then == none {
			continue
		}
		n, err := s.fault(ctx, i, img, id, then)
		if err != nil {
			return err
		}
		id += n
	}
	return s.part(ctx, i, img, img.trailer())
}

// part sends a leader or trailer, unless a fault takes it. Nothing else happens to
// these.
func (s *stream) part(ctx context.Context, i int, img *image, id uint32) error {
	if s.dice.throw() == suppressed {
		s.skip(i, id)
		return nil
	}
	return s.d.single(ctx, i, img, id, gv.OK)
}

// fault sends packet id as a fault has it, and returns how many packets are done with.
func (s *stream) fault(ctx context.Context, i int, img *image, id uint32, f fault) (n uint32, err error) {
	n = 1
	ids := []uint32{id}
	switch f {
	case suppressed:
		s.skip(i, id)
		return n, nil
	case duplicated:
		s.d.counts.duplicated.Add(1)
		ids = []uint32{id, id}
	case reordered:
		if id < img.packets {
			s.d.counts.reordered.Add(1)
			n, ids = 2, []uint32{id + 1, id}
		}
	}
	for _, id := range ids {
		if err := s.d.single(ctx, i, img, id, gv.OK); err != nil {
			return n, err
		}
	}
	return n, nil
}

// skip is a packet that is suppressed. Who misses it may ask for it.
func (s *stream) skip(i int, id uint32) {
	_, sent := s.d.store.look(i)
	sent.Store(id)
	s.d.counts.suppressed.Add(1)
}
