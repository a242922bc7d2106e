// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// imageBuffers is how many images an endpointCamera has memory for: one is drawn
// while the kernel still reads those before.
const imageBuffers = 3

// An endpointCamera sends trains of a region.
type endpointCamera struct {
	*endpoint
	queue   *udp.Queue
	flow    *udp.Flow
	area    *umem.Area
	shape   camera.Shape
	slices  [imageBuffers]umem.Slice // one an image
	free    []int                    // images that nobody reads
	lent    int                      // the image that is being drawn
	cookies [imageBuffers]uint64     // room for those that come back: one more than the image
}

func openEndpointCamera(cfg Config) (*endpointCamera, error) {
	c := &endpointCamera{shape: camera.Shape{Image: cfg.Image, Size: cfg.Size}}
	if err := c.open(cfg); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *endpointCamera) open(cfg Config) error {
	err := c.shape.Validate()
	if err == nil {
		err = c.cut(cfg)
	}
	if err != nil {
		return err
	}
	if c.endpoint, err = openWith(cfg, udp.Config{Wait: xsk.Adaptive, Area: c.area}); err != nil {
		return err
	}
	c.queue = c.conn.Queues()[0]
	c.flow, err = c.warm(cfg)
	return err
}

// cut makes an area for the frames of openWith and for the images. A chunk holds a
// datagram, if any can.
func (c *endpointCamera) cut(cfg Config) error {
	chunk, entries := 2048, cfg.Hold*frames(cfg.Size)
	for chunk < os.Getpagesize() && cfg.Size+headers > chunk {
		chunk *= 2
	}
	each := (c.shape.Padded() + chunk - 1) / chunk
	var err error
	if c.area, err = umem.New(umem.Config{ChunkSize: chunk, Chunks: entries + entries/2 + imageBuffers*each}); err != nil {
		return err
	}
	for i := range c.slices {
		r, err := c.area.NewRegion(c.shape.Padded())
		if err != nil {
			return err
		}
		if c.slices[i], err = r.Slice(0, c.shape.Padded()); err != nil {
			return err
		}
		c.free = append(c.free, i)
	}
	return nil
}

// Image waits until the kernel is through with one.
func (c *endpointCamera) Image() ([]byte, error) {
	for begun := time.Now(); len(c.free) == 0; time.Sleep(completionNap) {
		n := c.queue.Completed(c.cookies[:])
		for _, cookie := range c.cookies[:n] {
			c.free = append(c.free, int(cookie)-1)
		}
		if n > 0 {
			break
		}
		if err := dropLost(c.queue.Flush()); err != nil || time.Since(begun) > receiveWait {
			return nil, err
		}
	}
	c.lent = c.free[0]
	return c.slices[c.lent].Bytes(), nil
}

// completionNap is the time between two looks for an image that is free.
const completionNap = 100 * time.Microsecond

// Send implements camera.Sender.
func (c *endpointCamera) Send(label camera.Label) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendWait)
	defer cancel()
	c.free = c.free[1:]
	n, err := c.queue.SendTrain(ctx, udp.Train{
		Flow: c.flow, Data: c.slices[c.lent], Size: c.shape.Pixels(), Header: label, Cookie: uint64(c.lent) + 1,
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%d datagrams did not get into the TX ring within %v", c.shape.Packets()-n, sendWait)
	}
	return n, dropLost(err)
}

// Flush implements camera.Sender.
func (c *endpointCamera) Flush() (int, error) { return c.drain() }

// Close closes the Conn, and then the area that it lies in.
func (c *endpointCamera) Close() error {
	var errs error
	if c.endpoint != nil {
		errs = c.endpoint.Close()
	}
	if c.area != nil {
		errs = errors.Join(errs, c.area.Close())
	}
	return errs
}
