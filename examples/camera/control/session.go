// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// ErrLost is control that the camera has given to nobody or somebody else: it missed
// our heartbeats, was restarted, or another program took it.
var ErrLost = errors.New("control of the camera is lost")

// Take takes control: from now on the camera obeys this client alone.
func (c *Client) Take(ctx context.Context) error {
	err := c.Write(ctx, gv.RegCCP, gv.CCPControl)
	if errors.Is(err, gv.AccessDenied) {
		return fmt.Errorf("%w; another program has control of the camera, end that, or wait until the camera misses it", err)
	}
	return err
}

// Leave gives control up.
func (c *Client) Leave(ctx context.Context) error { return c.Write(ctx, gv.RegCCP, 0) }

const (
	// beats is how many heartbeats are sent in the time that the camera waits for one.
	beats = 3
	// defaultHeartbeat is for cameras that do not say how long they wait.
	defaultHeartbeat = 3 * time.Second
)

// Keep keeps the control of the camera until ctx ends, and returns nil then. Any
// other end is ErrLost.
func (c *Client) Keep(ctx context.Context) error {
	timeout := defaultHeartbeat
	if ms, err := c.Read(ctx, gv.RegHeartbeat); err == nil && ms > 0 {
		timeout = min(time.Duration(ms)*time.Millisecond, time.Minute)
	}
	tick := time.NewTicker(timeout / beats)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		ccp, err := c.Read(ctx, gv.RegCCP)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrLost, err)
		case ccp&(gv.CCPControl|gv.CCPExclusive) == 0:
			return fmt.Errorf("%w: it says that nobody has it", ErrLost)
		}
	}
}

// CanResend tells whether the camera sends packets again when asked.
func (c *Client) CanResend(ctx context.Context) (bool, error) {
	caps, err := c.Read(ctx, gv.RegGVCPCap)
	return caps&gv.GVCPCapResend != 0, err
}
