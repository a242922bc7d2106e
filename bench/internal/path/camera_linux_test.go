// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestCameras sends some images over every path that can, at a small and at a large
// MTU, and wants each of them whole.
func TestCameras(t *testing.T) {
	modes := map[string]string{"socket": "-", "mmsg": "-", "gso": "segmented", "xdp": "native copy"}
	for _, p := range paths(Images) {
		for _, mtu := range []int{1500, 8000} {
			t.Run(fmt.Sprintf("%s/%d", p.Name, mtu), func(t *testing.T) {
				pair := testnet.TestPair(t, testnet.Config{MTU: mtu})
				shape := camera.Shape{Image: 640 * 481, Size: mtu - 28}
				c, r := openCamera(t, pair, p, shape, mtu)
				if got := c.Info().Mode; got != modes[p.Name] {
					t.Errorf("mode %q, want %q", got, modes[p.Name])
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				var got camera.Got
				var err error
				go func() {
					defer close(done)
					got, err = camera.Assemble(ctx, r, camera.NewScene(shape), shape, run, 64)
				}()
				const images = 12 // more than there are buffers
				sendImages(t, c, shape, images)
				cancel()
				<-done
				if lost := images*uint64(shape.Packets()) - got.Tally.Received; lost > 0 {
					// The receiver was kept from running: that is in its counters.
					counts, countErr := r.Counters()
					if split := loss.Attribute(lost, counts); countErr != nil || split[loss.Unaccounted] > 0 {
						t.Errorf("%d lost: %v, %v", lost, split, countErr)
					}
				} else if err != nil || got.Complete != images || got.Wrong != 0 {
					t.Errorf("%v: %+v of %d images, %d packets each", err, got, images, shape.Packets())
				}
			})
		}
	}
}

// openCamera opens both sides and closes them with the test.
func openCamera(t *testing.T, pair *testnet.Pair, p Path, shape camera.Shape, mtu int) (c Camera, r Receiver) {
	t.Helper()
	tx, rx := configs(pair, shape.Size)
	tx.MTU, rx.MTU, tx.Image, rx.Image = mtu, mtu, shape.Image, shape.Image
	in := func(end testnet.End, f func() error) {
		t.Helper()
		if err := end.NS.Do(f); err != nil {
			t.Fatal(err)
		}
	}
	in(pair.B, func() error {
		end, err := p.Open(Images, false, rx)
		if err == nil {
			r = end.(Receiver)
		}
		return err
	})
	t.Cleanup(func() { in(pair.B, r.Close) })
	in(pair.A, func() error {
		end, err := p.Open(Images, true, tx)
		if err == nil {
			c = end.(Camera)
		}
		return err
	})
	t.Cleanup(func() { in(pair.A, c.Close) })
	return c, r
}

// sendImages sends the first images of a scene.
func sendImages(t *testing.T, c Camera, shape camera.Shape, images uint32) {
	t.Helper()
	scene := camera.NewScene(shape)
	for image := uint32(0); image < images; {
		buf, err := c.Image()
		if err != nil {
			t.Fatal(err)
		}
		if buf == nil {
			continue
		}
		if len(buf) != shape.Padded() {
			t.Fatalf("room for %d bytes of %d", len(buf), shape.Padded())
		}
		scene.Draw(buf, image)
		n, err := c.Send(func(i int, room []byte) int { return camera.PutHeader(room, run, image, i) })
		if err != nil || n != shape.Packets() {
			t.Fatalf("%d of %d datagrams: %v", n, shape.Packets(), err)
		}
		image++
	}
	if left, err := c.Flush(); left != 0 || err != nil {
		t.Fatalf("%d left: %v", left, err)
	}
}

// TestCameraShape refuses what cannot be cut, and leaves nothing open.
func TestCameraShape(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	tx, _ := configs(pair, 64)
	before := descriptors(t)
	for _, p := range paths(Images) {
		for _, image := range []int{0, -1, camera.MaxImage + 1} {
			tx.Image = image
			if err := pair.A.NS.Do(func() error { return fails(p.Open(Images, true, tx)) }); err == nil || err.Error() == "opened" {
				t.Errorf("%s: an image of %d bytes: %v", p.Name, image, err)
			}
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
