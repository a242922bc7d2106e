// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/route"
	"github.com/xdpath/xdpath/xsk"
)

// counters are a Conn's own, added to once a batch.
type counters struct {
	fastRx, fastRxBytes, kernelRx, kernelRxBytes atomic.Uint64
	fastTx, fastTxBytes, kernelTx, kernelTxBytes atomic.Uint64
	badChecksum, partial, otherSource            atomic.Uint64
	txRefused, txLinkDown                        atomic.Uint64
	gathered, copied                             atomic.Uint64
	eventsDropped                                atomic.Uint64
	reasons                                      [packet.NumReasons]atomic.Uint64
}

// Stats are a Conn's counters since it was opened. They only grow.
type Stats struct {
	// Datagrams and payload bytes by lane.
	FastRx, FastRxBytes, KernelRx, KernelRxBytes uint64
	FastTx, FastTxBytes, KernelTx, KernelTxBytes uint64

	// Datagrams that were sent from slices: as they lay, and copied.
	Gathered, Copied uint64

	// Datagrams on the fast lane that were not delivered, by reason.
	BadChecksum uint64
	OtherSource uint64            // from an address that nobody on the wire can have, or not from the peer
	Malformed   map[string]uint64 // what the frame's headers lack
	TxRefused   uint64            // sent over an MTU that had just shrunk
	TxLinkDown  uint64            // given to the kernel lane while the interface was down or without carrier

	Partial       uint64 // delivered with a checksum that the sender left to a device
	EventsDropped uint64

	Sockets []xsk.Stats  // one a queue: rings, drops by the kernel, losses
	Program bpf.Counters // what the XDP program passed to the kernel, and why
	Kernel  lane.Stats   // the companion socket
	Routes  route.Stats
}

// Stats reads the counters. The kernel is asked each time: not for the data path.
func (c *Conn) Stats() (Stats, error) {
	n := &c.stats
	st := Stats{
		FastRx: n.fastRx.Load(), FastRxBytes: n.fastRxBytes.Load(), KernelRx: n.kernelRx.Load(), KernelRxBytes: n.kernelRxBytes.Load(),
		FastTx: n.fastTx.Load(), FastTxBytes: n.fastTxBytes.Load(), KernelTx: n.kernelTx.Load(), KernelTxBytes: n.kernelTxBytes.Load(),
		BadChecksum: n.badChecksum.Load(), OtherSource: n.otherSource.Load(), TxRefused: n.txRefused.Load(), TxLinkDown: n.txLinkDown.Load(),
		Gathered: n.gathered.Load(), Copied: n.copied.Load(),
		Partial: n.partial.Load(), EventsDropped: n.eventsDropped.Load(), Malformed: map[string]uint64{},
	}
	for i := range n.reasons {
		if v := n.reasons[i].Load(); v > 0 {
			st.Malformed[packet.Reason(i).String()] = v
		}
	}
	var errs []error
	for _, q := range c.queues {
		s, err := q.sock.Stats()
		st.Sockets, errs = append(st.Sockets, s), append(errs, err)
	}
	if c.prog != nil && c.err.Load() == nil {
		var err error
		st.Program, err = c.prog.Counters()
		errs = append(errs, err)
	}
	if c.table != nil {
		st.Routes = c.table.Stats()
	}
	st.Kernel = c.lane.Stats()
	return st, errors.Join(errs...)
}

// String is one line for a person: what went through, and every loss by its name.
func (s Stats) String() string {
	var ring, device, malformed uint64
	for _, x := range s.Sockets {
		ring += x.RxLost()
		device += x.TxLost
	}
	for _, n := range s.Malformed {
		malformed += n
	}
	return fmt.Sprintf("received %d fast, %d kernel; sent %d fast, %d kernel; "+
		"lost: ring %d, socket %d, bad checksum %d, malformed %d, other source %d; sending: device %d, MTU %d",
		s.FastRx, s.KernelRx, s.FastTx, s.KernelTx,
		ring, s.Kernel.KernelDrops, s.BadChecksum, malformed, s.OtherSource, device, s.TxRefused)
}
