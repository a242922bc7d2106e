// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"net/netip"
)

// Datagram is one that was received. Its payload is lent until the handler returns.
type Datagram struct {
	From    netip.AddrPort
	Payload []byte // what there is of it in one piece, the header at least
	Size    int    // of the whole payload
}

// Port is a UDP port, carried by whatever is to be measured.
type Port interface {
	// Run receives until ctx is done, and calls handle for what came in together: from
	// several goroutines at once, if the port has several queues. The error is nil when
	// ctx ended it.
	Run(ctx context.Context, handle func([]Datagram)) error
	// Sender is a way to a destination. Its use is for one goroutine; those of several
	// senders may run side by side.
	Sender(to netip.AddrPort) (Sender, error)
	// Batch is the most datagrams that one Send takes.
	Batch() int
	// String says what it is and what was obtained.
	String() string
	Close() error
}

// Sender sends to one destination.
type Sender interface {
	// Send sends up to n datagrams of a size, of which fill writes the beginning, in
	// order. It waits, within ctx, for room. What it returns has been handed over.
	Send(ctx context.Context, n, size int, fill func(b []byte)) (sent int, err error)
	// Flush waits, within ctx, until what was handed over has left.
	Flush(ctx context.Context) error
}

// Pacer keeps datagrams apart. Wait returns when the next one is due; Sent says that it
// has left.
type Pacer interface {
	Wait(ctx context.Context) error
	Sent()
}
