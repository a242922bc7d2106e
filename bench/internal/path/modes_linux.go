// SPDX-License-Identifier: MIT

package path

import (
	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// genericPath is xdp with the program in generic mode, which every interface has: the
// kernel makes its own packet first.
func genericPath() Path { return forced("xdp-generic", udp.Config{Attach: bpf.Generic}) }

// copyPath is xdp that does not even try zero-copy.
func copyPath() Path { return forced("xdp-copy", udp.Config{Attach: bpf.Native, Mode: xsk.Copy}) }

// zeroCopyPath is xdp that does not put up with less than zero-copy.
func zeroCopyPath() Path {
	return forced("xdp-zerocopy", udp.Config{Attach: bpf.Native, Mode: xsk.ZeroCopy})
}

// forced is xdp that insists on what c says of modes: where it cannot be had, the path
// does not open, and the reason is what the bench shows.
func forced(name string, c udp.Config) Path {
	c.Wait = xsk.Adaptive
	return Path{
		Name: name, Extra: []Kind{Stream, Trips},
		Sender: func(cfg Config) (Sender, error) {
			e, err := openWith(cfg, c)
			if err != nil {
				return nil, err
			}
			return newEndpointSender(cfg, e, e.conn.Queues()[0])
		},
		Receiver: func(cfg Config) (Receiver, error) {
			e, err := openWith(cfg, c)
			if err != nil {
				return nil, err
			}
			return newEndpointReceiver(cfg, e, e.conn.Queues()[0]), nil
		},
		Peer: func(cfg Config) (Peer, error) {
			e, err := openWith(cfg, c)
			if err != nil {
				return nil, err
			}
			return newEndpointPeer(cfg, e)
		},
	}
}
