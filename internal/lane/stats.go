// SPDX-License-Identifier: MIT

package lane

import (
	"net/netip"
	"sync/atomic"
)

// Stats counts since Open; no number ever falls.
type Stats struct {
	Received, ReceivedBytes uint64 // datagrams handed out by Receive, and their payload
	Bundles                 uint64 // reads that brought more than one datagram (GRO)
	Truncated               uint64 // datagrams cut or lost because a buffer was too small
	KernelDrops             uint64 // arrived, but dropped by the socket: no room, or a bad checksum
	ReceiveErrors           uint64 // errors that Receive returned, ErrNoBuffers left out
	NoBuffers               uint64 // times that Receive returned ErrNoBuffers
	Sent, SentBytes         uint64 // datagrams that the kernel took, and their payload
	SentBundles             uint64 // sends of more than one datagram (GSO)
	SendErrors              uint64 // errors that Send and SendSegments returned
	BadReleases             uint64 // messages given to Release that were not out
}

// Info is what was obtained.
type Info struct {
	Local  netip.AddrPort // as the kernel tells it, with the port
	Remote netip.AddrPort // not valid without one
	// DualStack: the socket takes IPv4 and IPv6.
	DualStack                 bool
	ReceiveBuffer, SendBuffer BufferInfo
	GRO, GSO                  Offload
}

// BufferInfo tells of a socket buffer, in the unit of SetReadBuffer of package
// net. The kernel charges a datagram with its bookkeeping too: 212,992 bytes hold
// some 250 small ones.
type BufferInfo struct {
	Asked int // 0: the system's default
	Got   int // less than Asked where the system's limit holds
}

// Offload tells whether the kernel does something for us, and if not, why not.
type Offload struct {
	On   bool
	Note string
}

// counters is Stats as it is counted. Each is added to once a call, by the
// goroutines that receive or send, and read at any time.
type counters struct {
	received, receivedBytes, bundles, truncated, receiveErrors, noBuffers atomic.Uint64
	sent, sentBytes, sentBundles, sendErrors                              atomic.Uint64
}

func (c *counters) stats() Stats {
	return Stats{
		Received:      c.received.Load(),
		ReceivedBytes: c.receivedBytes.Load(),
		Bundles:       c.bundles.Load(),
		Truncated:     c.truncated.Load(),
		ReceiveErrors: c.receiveErrors.Load(),
		NoBuffers:     c.noBuffers.Load(),
		Sent:          c.sent.Load(),
		SentBytes:     c.sentBytes.Load(),
		SentBundles:   c.sentBundles.Load(),
		SendErrors:    c.sendErrors.Load(),
	}
}

// dropCount makes a number that never falls out of the kernel's 32-bit count of
// drops, which comes by two ways and therefore not always in order.
type dropCount struct {
	total atomic.Uint64
}

// observe takes a reading. One that lies behind the last is old.
func (d *dropCount) observe(reading uint32) {
	for {
		total := d.total.Load()
		ahead := reading - uint32(total)
		if ahead == 0 || ahead > 1<<31 {
			return
		}
		if d.total.CompareAndSwap(total, total+uint64(ahead)) {
			return
		}
	}
}
