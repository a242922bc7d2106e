// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Fallback says what to do where AF_XDP cannot be had.
type Fallback int

const (
	// FallbackRefuse makes Listen fail, with the reason.
	FallbackRefuse Fallback = iota
	// FallbackAllow makes Listen return a Conn on the kernel lane alone, which
	// says so in its Info.
	FallbackAllow
)

// TxChecksum says what goes into the UDP checksum of datagrams sent by the fast
// lane. The kernel lane always has one.
type TxChecksum int

const (
	// TxAuto leaves it to the device where that says it can (TX metadata, Linux
	// 6.8), and computes it in software elsewhere.
	TxAuto TxChecksum = iota
	// TxSoftware computes it, in one pass over the payload.
	TxSoftware
	// TxNone sends zero, which means none. IPv4 only: a flow to an IPv6
	// address refuses with ErrChecksumRequired.
	TxNone
	// TxOffload leaves it to the device. Where there is none that can, in copy
	// mode, the kernel computes it.
	TxOffload
)

// RxChecksum says what happens to a datagram on the fast lane whose UDP checksum
// is wrong. The kernel lane drops it.
type RxChecksum int

const (
	// RxVerify drops and counts it. On a virtual interface (veth, virtio and
	// the like) a field that holds the pseudo-header's sum only is not wrong:
	// the sender left the rest to a device that does not exist.
	RxVerify RxChecksum = iota
	// RxIgnore does not look.
	RxIgnore
	// RxMark delivers it with BadChecksum set.
	RxMark
)

// Coalesce bounds how long datagrams may wait in the TX ring for company, so
// that one system call sends several. The zero value sends at the end of each
// call.
type Coalesce struct {
	// Frames is how many make the library send at once. With Delay 0 it is
	// not used.
	Frames int
	// Delay is how long the oldest may wait. It leaves within that time even
	// if no further call comes.
	Delay time.Duration
}

// RxCoalesce is how an interface's NAPI is deferred
// (Documentation/networking/napi.rst).
type RxCoalesce struct {
	Timeout    time.Duration // from one poll to the next, at most a second
	Interrupts int           // polls that may find nothing before the interrupt is on again; 0 means 2
}

// Config describes a [Conn]. Interface or a specific Local address is required.
type Config struct {
	// Interface is its name, in the caller's network namespace. Empty: the one
	// that has Local's address.
	Interface string
	// Local is the address and port to receive on. An unspecified address, or
	// none, means any address of this host; port 0 lets the kernel choose.
	Local netip.AddrPort
	// Remote makes a connected Conn: it receives from this peer only, and Write
	// sends to it.
	Remote netip.AddrPort
	// Queues are the queues to open. Nil: all that the interface has. What
	// arrives on others goes the kernel lane.
	Queues []int

	Mode     xsk.Mode // what to insist on; default the best there is
	Attach   bpf.Mode // likewise for the XDP program
	Replace  bool     // remove a foreign XDP program that is attached by netlink
	Fallback Fallback

	// RingSize is the number of entries of each ring, a power of two. Default
	// 2048.
	RingSize int
	// ChunkSize is the bytes of a chunk, see umem. Default what the MTU needs:
	// 2048, or up to a page. Where a page is too small datagrams may take
	// several chunks (Received.Rest), of 2048 again if 18 are enough. Larger
	// ones make large datagrams cheaper and small ones dearer.
	ChunkSize int
	// TxFrames is the number of frames for sending on each queue. Default
	// RingSize.
	TxFrames int
	// Area is the caller's own memory for all queues, whose regions SendGather and
	// SendTrain send from. It must have RingSize + TxFrames chunks a queue beside
	// the regions, so more than umem's default of 4096, and is the caller's to close,
	// after the Conn. Nil: each queue has one of its own.
	Area *umem.Area
	// Gather says how what is sent from regions gets into the ring.
	Gather GatherPolicy

	Wait     xsk.Wait // how receiving waits; default adaptive
	Spin     time.Duration
	BusyPoll bool
	Coalesce Coalesce
	// RxCoalesce, if set, defers the interface's NAPI: the kernel collects
	// packets for Timeout before it hands them on, for all who use the
	// interface. It costs latency and spares wakeups. What stood there before
	// is put back by Close, or after a crash by the next Conn that asks. The
	// zero RxCoalesce leaves the interface alone.
	RxCoalesce RxCoalesce

	TxChecksum TxChecksum
	RxChecksum RxChecksum

	// LaunchClock, if not nil, asks for launch times: where the driver has them
	// (Linux 6.15; Info.LaunchTime tells), SendPaced hands datagrams over some
	// milliseconds before they are due, and the device sends each when it is.
	// Elsewhere a loop sends them when they are due by our own clock.
	//
	// It reads the clock that the device goes by, its PTP clock: ClockTAI where that
	// follows CLOCK_TAI (ptp4l and phc2sys of linuxptp see to it), or the clock of
	// its /dev/ptp. A wrong clock makes datagrams leave at once or never, and one
	// that waits holds up all behind it on its queue. Nor does the driver tell
	// whether launch times are switched on for the queue (tc qdisc etf with offload).
	// So nobody is taken to want them who does not ask. An Area needs room for them:
	// umem.Config.TxMetadata of xsk.TxMetadataSize; slices that begin with less room
	// before them in their chunk are copied then. See
	// Documentation/networking/xsk-tx-metadata.rst.
	LaunchClock func() time.Duration

	// Metadata lets received datagrams carry what the driver knows of them:
	// see Queue.Metadata.
	Metadata bpf.MetadataPolicy
	// Timestamps sets Received.Time.
	Timestamps bool

	// Broadcast allows sending to broadcast addresses, EACCES otherwise.
	Broadcast bool
	// TTL and TOS of what is sent; 0 means 64 (1 to groups), and 0.
	TTL, TOS uint8
	// ReceiveBuffer and SendBuffer are for the companion socket, in bytes.
	ReceiveBuffer, SendBuffer int

	// Logger, if not nil, gets what also comes as Event.
	Logger *slog.Logger
}

const (
	defaultRing = 2048
	// headerRoom is where the payload begins in a frame for sending: room for
	// the longest headers, and on a cache line.
	headerRoom = 128
	// With checksum offload the headers begin on a multiple of 8 instead, after
	// the metadata: 42 bytes of IPv4 and UDP, or 62 of IPv6.
	headerRoom4, headerRoom6 = 130, 134
	// maxFlows bounds the flows that a PacketConn remembers.
	maxFlows = 1 << 14
)

func (c Config) withDefaults() Config {
	if c.RingSize == 0 {
		c.RingSize = defaultRing
	}
	if c.TxFrames == 0 {
		c.TxFrames = c.RingSize
	}
	c.Local = netip.AddrPortFrom(c.Local.Addr().Unmap(), c.Local.Port())
	c.Remote = netip.AddrPortFrom(c.Remote.Addr().Unmap(), c.Remote.Port())
	return c
}

// validate tells everything that is wrong with c, before any system call.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("udp: config: "+format, args...)) }
	local := c.Local.Addr()
	if c.Interface == "" && (!local.IsValid() || local.IsUnspecified()) {
		bad("Interface: a name is required, or a Local address that one interface has")
	}
	if local.IsMulticast() || local == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		bad("Local %v: not an address to bind to; join groups with JoinGroup", local)
	}
	if c.Remote.IsValid() && (c.Remote.Port() == 0 || c.Remote.Addr().IsUnspecified()) {
		bad("Remote %v: not a peer", c.Remote)
	}
	if c.Remote.IsValid() && local.IsValid() && !local.IsUnspecified() && local.Is4() != c.Remote.Addr().Is4() {
		bad("Remote %v: not of Local's address family", c.Remote)
	}
	if c.RingSize < 1 || c.RingSize&(c.RingSize-1) != 0 || c.RingSize > 1<<20 {
		bad("RingSize %d: must be a power of two up to 2^20", c.RingSize)
	}
	if c.TxFrames < 1 {
		bad("TxFrames %d: must be at least 1", c.TxFrames)
	}
	if c.Area != nil && c.ChunkSize != 0 {
		bad("ChunkSize %d: the Area has its own", c.ChunkSize)
	}
	if c.Gather == GatherAlways && c.Area == nil {
		bad("Gather: slices are of regions of an Area of the caller's: set Area")
	}
	if c.Gather == GatherAlways && c.TxChecksum == TxOffload {
		bad("Gather: TX metadata want room before each slice in its chunk, so offloaded checksums do not go with GatherAlways")
	}
	seen := map[int]bool{}
	for _, q := range c.Queues {
		if q < 0 || seen[q] {
			bad("Queues %v: %d is negative or named twice", c.Queues, q)
		}
		seen[q] = true
	}
	if c.Queues != nil && len(c.Queues) == 0 {
		bad("Queues: empty; nil means all")
	}
	if c.Coalesce.Frames < 0 || c.Coalesce.Delay < 0 {
		bad("Coalesce %+v: must not be negative", c.Coalesce)
	}
	if c.RxCoalesce.Interrupts > 0 && c.RxCoalesce.Timeout == 0 {
		bad("RxCoalesce %+v: Interrupts without a Timeout", c.RxCoalesce)
	}
	if c.RxCoalesce.Timeout < 0 || c.RxCoalesce.Timeout > time.Second || c.RxCoalesce.Interrupts < 0 {
		bad("RxCoalesce %+v: Timeout must be from 0 to 1 s, Interrupts not negative", c.RxCoalesce)
	}
	for _, e := range []struct {
		name      string
		value, to int
	}{{"Fallback", int(c.Fallback), int(FallbackAllow)}, {"Gather", int(c.Gather), int(GatherCopy)}, {"TxChecksum", int(c.TxChecksum), int(TxOffload)}, {"RxChecksum", int(c.RxChecksum), int(RxMark)}} {
		if e.value < 0 || e.value > e.to {
			bad("%s %d: no such value", e.name, e.value)
		}
	}
	return errors.Join(errs...)
}
