// SPDX-License-Identifier: MIT

package main

import (
	"context"

	"github.com/xdpath/xdpath/examples/camera/intake"
)

// kept is how many images the cameras keep: one is drawn while another is sent.
const kept = 2

// sending is a camera.
type sending interface {
	// start has it send to the port of the receiver.
	start(ctx context.Context, port uint16) error
	// stop ends that with the image that is being sent.
	stop() error
	// sent is how many images it has sent, and how many it should have but could
	// not.
	sent() (images, skipped uint64)
	close() error
}

// way is how the stream goes: a camera at one end, a receiver at the other.
type way struct {
	camera sending
	source intake.Source
}

// ways are how to open them.
var ways = map[string]func(ctx context.Context, n *network, mtu int, p plan) (*way, error){
	"xdp": openXDP, "mmsg": openMmsg,
}

func (w *way) close() error {
	err := w.camera.close()
	if e := w.source.Close(); err == nil {
		err = e
	}
	return err
}
