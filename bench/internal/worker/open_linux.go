// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/suite"
	"github.com/xdpath/xdpath/udp"
)

const (
	carrierMost  = 30 * time.Second      // to wait for a link that is down
	carrierCheck = 10 * time.Millisecond // between two looks at it
)

// OpenPath opens the side of a path that p describes on this machine. A link
// that is down, as some are for seconds when a program is attached, is waited
// for before and after.
func OpenPath(ctx context.Context, p control.Prepare) (path.End, error) {
	test, err := suite.Find(p.Test)
	if err != nil {
		return nil, err
	}
	found, err := path.Find(p.Path, test.Kind)
	if err != nil {
		return nil, err
	}
	cfg, err := config(p)
	if err != nil {
		return nil, err
	}
	if err := waitCarrier(ctx, p.Interface); err != nil {
		return nil, err
	}
	end, err := found.Open(test.Kind, p.Role == control.RoleSender, cfg)
	if err != nil {
		return nil, err
	}
	if err := waitCarrier(ctx, p.Interface); err != nil {
		_ = end.Close() // the link is the news
		return nil, err
	}
	return end, nil
}

func config(p control.Prepare) (path.Config, error) {
	local, err := net.ParseMAC(p.LocalMAC)
	if err != nil {
		return path.Config{}, err
	}
	peer, err := net.ParseMAC(p.PeerMAC)
	if err != nil {
		return path.Config{}, err
	}
	return path.Config{
		Interface: p.Interface, Queue: p.Queue, Queues: p.Queues, Local: p.Local, Peer: p.Peer, LocalMAC: local, PeerMAC: peer,
		Size: p.Size, Batch: p.Batch, MTU: p.MTU, Image: p.Image, Checksum: p.Checksum, Hold: hold(p), Keep: p.Keep,
		RX: p.RX, TX: p.TX, Fill: p.Fill, Coalesce: udp.Coalesce{Frames: p.Frames, Delay: p.Delay},
	}, nil
}

// hold is how many datagrams the path can hold unread, or in the rings to send from.
func hold(p control.Prepare) int {
	switch {
	case p.Role == control.RoleReceiver && p.Hold > 0:
		return p.Hold
	case p.Ring > 0:
		return p.Ring
	}
	return path.Hold
}

// waitCarrier waits until iface is up and has carrier.
func waitCarrier(ctx context.Context, iface string) error {
	ctx, cancel := context.WithTimeout(ctx, carrierMost)
	defer cancel()
	tick := time.NewTicker(carrierCheck)
	defer tick.Stop()
	for {
		ifi, err := net.InterfaceByName(iface)
		if err != nil {
			return fmt.Errorf("look up interface %s: %w", iface, err)
		}
		if ifi.Flags&net.FlagUp != 0 && ifi.Flags&net.FlagRunning != 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for carrier of %s: %w", iface, ctx.Err())
		}
	}
}
