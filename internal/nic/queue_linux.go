// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Queue is one active queue of an interface, as the kernel's core knows it.
type Queue struct {
	ID   int
	Rx   bool
	NAPI int  // number of the poller that serves it, 0 where the driver does not tell
	XSK  bool // an AF_XDP socket, of any process, is bound to it; told since Linux 6.15
}

// NAPI is one of the kernel's pollers of an interface.
type NAPI struct {
	ID       int
	IRQ      int      // interrupt that starts it, 0 where the driver does not tell
	Known    bool     // Deferral is known, Linux 6.13
	Deferral Deferral // both zero: it is not deferred
}

// Queues lists the active queues, receiving ones first. The kernel tells none of an
// interface that is down. Before Linux 6.8 the error is errors.ErrUnsupported.
func (n *NIC) Queues() ([]Queue, error) {
	return listOf(n, netdevCmdQueueGet, "queues", netdevQueueIfindex, parseQueue)
}

// NAPIs lists the pollers. veth has none without an XDP program in native mode.
// Before Linux 6.8 the error is errors.ErrUnsupported.
func (n *NIC) NAPIs() ([]NAPI, error) {
	return listOf(n, netdevCmdNAPIGet, "NAPIs", netdevNAPIIfindex, func(b []byte) (NAPI, error) {
		s, err := parseNAPI(b)
		return NAPI{ID: int(s.id), IRQ: s.irq, Known: s.known, Deferral: s.knobs.deferral()}, err
	})
}

// listOf asks for what an interface has of something.
func listOf[T any](n *NIC, cmd uint8, what string, ifindex int, parse func([]byte) (T, error)) ([]T, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	found, err := askList(n, cmd, ifindex, parse)
	if err != nil {
		return nil, fmt.Errorf("nic: list %s of %s: %w", what, n.label(), err)
	}
	return found, nil
}

func askList[T any](n *NIC, cmd uint8, ifindex int, parse func([]byte) (T, error)) ([]T, error) {
	if n.closed {
		return nil, net.ErrClosed
	}
	if !n.netdev.commands[int(cmd)] {
		return nil, fmt.Errorf("this kernel does not tell them (Linux 6.8 does): %w", errors.ErrUnsupported)
	}
	answers, err := n.ask.dumpGeneric(n.netdev.id, cmd, netdevVersion, nl.NewRtAttr(ifindex, nl.Uint32Attr(uint32(n.index))))
	if errors.Is(err, unix.ENODEV) {
		return nil, ErrNoInterface
	}
	if err != nil {
		return nil, err
	}
	var found []T
	for _, answer := range answers {
		one, err := parse(answer)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// parseQueue reads one answer to NETDEV_CMD_QUEUE_GET.
func parseQueue(b []byte) (Queue, error) {
	q := Queue{ID: -1}
	var typ int
	err := walkGeneric(b, func(attr uint16, v []byte) error {
		switch attr {
		case netdevQueueID:
			return setInt(&q.ID, v)
		case netdevQueueType:
			return setInt(&typ, v)
		case netdevQueueNAPI:
			return setInt(&q.NAPI, v)
		case netdevQueueXSK: // a nest with nothing in it
			q.XSK = true
		}
		return nil
	})
	if err == nil && q.ID < 0 {
		err = fmt.Errorf("no number: %w", unix.EBADMSG)
	}
	if err != nil {
		return Queue{}, fmt.Errorf("queue: %w", err)
	}
	q.Rx = typ == queueRx
	return q, nil
}
