// SPDX-License-Identifier: MIT

package camera

import (
	"context"
	"time"
)

// A Sender is the sending side of a path, for one goroutine.
type Sender interface {
	// Image lends memory for an image, Padded bytes of it, until Send. It waits a
	// bounded time for some to become free; nil means that none did.
	Image() ([]byte, error)
	// Send sends the image that was lent as Packets datagrams, each with the header
	// that label writes into room, whose length it returns. It returns how many the
	// kernel took, all unless there is an error. It may still read the memory then.
	Send(label Label) (int, error)
	// Flush waits a bounded time until all that Send took has left the program's
	// hands, and returns how many datagrams have not.
	Flush() (left int, err error)
}

// A Label writes the header of datagram i of an image.
type Label func(i int, room []byte) int

// Sent is what a camera did in a window.
type Sent struct {
	Images    uint64
	Datagrams uint64        // taken by the kernel
	Left      uint64        // of these, not yet sent when the wait for that ended
	Elapsed   time.Duration // from the first image to the end of the window
}

// Shoot sends images, numbered from 0, at rate images a second until duration has
// passed or ctx is done. What is late for its time is sent at once. After the last
// image it waits until the next one would be due, so that the work of so many images
// is spread over the time of so many.
func Shoot(ctx context.Context, s Sender, scene *Scene, run uint32, rate float64, duration time.Duration) (Sent, error) {
	var sent Sent
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for {
		due := time.Duration(float64(sent.Images) / rate * float64(time.Second))
		if !sleep(ctx, timer, time.Until(start.Add(min(due, duration)))) || due >= duration || time.Since(start) >= duration {
			break
		}
		buf, err := s.Image()
		if err != nil {
			return sent.at(start), err
		}
		if buf == nil {
			continue // the time is looked at again
		}
		image := uint32(sent.Images)
		scene.Draw(buf, image)
		n, err := s.Send(func(i int, room []byte) int { return PutHeader(room, run, image, i) })
		sent.Datagrams += uint64(n)
		if err != nil {
			return sent.at(start), err
		}
		sent.Images++
	}
	sent = sent.at(start)
	left, err := s.Flush()
	sent.Left = uint64(left)
	return sent, err
}

func (s Sent) at(start time.Time) Sent {
	s.Elapsed = time.Since(start)
	return s
}

// sleep waits for d, and reports false if ctx was done before.
func sleep(ctx context.Context, timer *time.Timer, d time.Duration) bool {
	if d > 0 {
		timer.Reset(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
