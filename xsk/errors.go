// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"net"
)

// Errors that callers branch on. Each also satisfies errors.Is with the system
// error behind it, where there is one.
var (
	// ErrNoInterface is an interface that does not exist, or no longer.
	ErrNoInterface = errors.New("no such interface")
	// ErrLinkDown is an interface that is administratively down. Frames that
	// were queued stay queued and are sent when it is up again.
	ErrLinkDown = errors.New("interface is down")
	// ErrQueueBusy is a queue that another AF_XDP socket has.
	ErrQueueBusy = errors.New("already bound by another AF_XDP socket")
	// ErrLost is a wakeup during which the device refused packets that it
	// had taken from the ring: they are gone, and counted in TxLost.
	ErrLost = errors.New("packets were refused by the device and are lost (link down at the peer?)")
	// ErrLength is a packet shorter than an Ethernet header, longer than the
	// interface takes, or of too many frames. It was not put into the ring.
	ErrLength = errors.New("bad packet length")
	// ErrMetadata is a frame whose metadata have no place, or ask for what
	// cannot be done.
	ErrMetadata = errors.New("bad metadata for sending")
	// ErrDirection is a call that the socket was not opened for.
	ErrDirection = errors.New("not what the socket was opened for")
)

// errClosed is what calls on a closed socket return; errors.Is(err, net.ErrClosed).
func (s *Socket) errClosed(step string) error { return s.errorf(step, net.ErrClosed) }

// errorf names step, interface and queue before err.
func (s *Socket) errorf(step string, err error) error {
	return fmt.Errorf("xsk: %s %s queue %d: %w", step, s.info.Interface, s.info.Queue, err)
}
