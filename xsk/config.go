// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/internal/wait"
	"github.com/xdpath/xdpath/umem"
)

// Mode is how frames get between the driver and the area.
type Mode int

const (
	// Best is zero-copy where the driver has it, else copy. As an obtained
	// mode it does not occur.
	Best Mode = iota
	// Copy lets the kernel copy each frame. Every device can.
	Copy
	// ZeroCopy lets the device read and write the area itself. Open fails
	// where the driver cannot.
	ZeroCopy
)

func (m Mode) String() string {
	switch m {
	case Best:
		return "best"
	case Copy:
		return "copy"
	case ZeroCopy:
		return "zero-copy"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// Direction is what a socket is for.
type Direction int

const (
	// Both receives and sends.
	Both Direction = iota
	// ReceiveOnly has no TX ring.
	ReceiveOnly
	// TransmitOnly has no RX ring. Its fill ring is filled all the same:
	// some drivers stop receiving for the kernel when it is empty.
	TransmitOnly
)

// Wait is how a call waits for frames.
type Wait int

const (
	// Adaptive spins a little and then blocks when little comes in; under
	// load it sleeps by the clock for a fraction of what the ring can hold,
	// so that the sender's CPU never pays for waking the receiver.
	Adaptive = Wait(wait.Adaptive)
	// Block sleeps in the kernel at once. Idle or not, it costs a wakeup,
	// paid by the CPU that delivers, for each batch.
	Block = Wait(wait.Block)
	// Busy never sleeps: one CPU at 100 %, and the lowest latency.
	Busy = Wait(wait.Busy)
)

func (w Wait) String() string {
	switch w {
	case Adaptive:
		return "adaptive"
	case Block:
		return "block"
	case Busy:
		return "busy"
	}
	return fmt.Sprintf("Wait(%d)", int(w))
}

// Config describes a [Socket]. Only Interface, or Index, is required.
type Config struct {
	Interface string // name of the interface, in the caller's network namespace
	Index     int    // its index, instead of the name
	Queue     int    // number of the queue

	Mode      Mode      // what to insist on; default the best there is
	Direction Direction // default both

	// Entries of the four rings, each a power of two. Default 2048, the fill
	// ring RxSize and the completion ring TxSize.
	RxSize, TxSize, FillSize, CompletionSize uint32

	// Area is the memory to use, shared with the other sockets on it, which
	// are all in copy mode or all in zero-copy, multi-buffer or not, as the
	// first of them. Default a new one, closed with the last socket on it, of RxFrames + TxFrames chunks of
	// ChunkSize bytes (default 2048) with Headroom bytes before each received
	// frame.
	Area                *umem.Area
	ChunkSize, Headroom int
	// TxMetadata and SoftwareChecksum are for the new area, see umem.Config.
	TxMetadata       int
	SoftwareChecksum bool
	// RxPool and TxPool are the pools of Area for the fill ring and for
	// [Socket.Reserve]; one pool may be both. Default new ones of RxFrames and
	// TxFrames chunks of the area (default FillSize and TxSize; a direction
	// that the socket lacks has 64 in the fill ring, and none for sending).
	RxPool, TxPool     *umem.Pool
	RxFrames, TxFrames int
	// Share is an open socket whose area to use, instead of Area. On the same
	// interface and queue the two also share the fill and the completion
	// ring, and Share's pool for the fill ring. Before Linux 6.4 the one that
	// was opened first stays in the queue map, deaf, when it is closed first:
	// put the other one there before.
	Share *Socket

	// MultiBuffer lets a packet span several frames (jumbo frames). The XDP
	// program must be frags-capable.
	MultiBuffer bool
	// ZeroCopySegments is how many frames of a packet the device takes in
	// zero-copy mode (xdp-zc-max-segs of netdev netlink). Default 18, what copy
	// mode takes.
	ZeroCopySegments int

	Wait Wait // how ReceiveContext waits; default adaptive
	// Spin is for how long an adaptive wait may spin. Default 50 µs.
	Spin time.Duration

	// BusyPoll asks the kernel to run the queue's NAPI from our system calls:
	// SO_PREFER_BUSY_POLL, SO_BUSY_POLL (20 µs) and SO_BUSY_POLL_BUDGET (64).
	// Where it is not permitted the socket goes without and Info says so.
	BusyPoll bool

	// TxBudget is how many frames one wakeup may send in copy mode. Default
	// TxSize; kernels before 6.17 have 32 whatever is asked.
	TxBudget int

	// BusyWait bounds the wait for a queue whose last owner has just closed,
	// and for memory of a closed socket that the kernel still counts as
	// locked: some 20 ms, but the kernel does it in the background and under
	// the lock of all network configuration, so a busy machine can take long.
	// Default 2 s; negative: do not wait.
	BusyWait time.Duration
	// Linger bounds the wait of Close for frames in transmission. Default
	// 100 ms; negative: do not wait.
	Linger time.Duration
}

const (
	defaultRing     = 2048
	defaultSpin     = 50 * time.Microsecond
	defaultBusyWait = 2 * time.Second
	defaultLinger   = 100 * time.Millisecond
	defaultTxBudget = 32 // TX_BATCH_SIZE of net/xdp/xsk.c
	// idleFill is how many chunks a transmit-only socket leaves to the
	// driver for the kernel's own reception.
	idleFill = 64
	// maxSegments is the most descriptors of one packet in copy mode
	// (MAX_SKB_FRAGS + 1, xsk_build_skb in net/xdp/xsk.c).
	maxSegments = 18
)

func (c Config) withDefaults() Config {
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.RxSize, defaultRing)
	def(&c.TxSize, defaultRing)
	if c.Direction == TransmitOnly {
		def(&c.FillSize, idleFill)
	}
	if c.Direction == ReceiveOnly {
		def(&c.CompletionSize, idleFill)
	}
	def(&c.FillSize, c.RxSize)
	def(&c.CompletionSize, c.TxSize)
	if c.RxFrames == 0 {
		c.RxFrames = int(c.FillSize)
	}
	if c.TxFrames == 0 && c.Direction != ReceiveOnly {
		c.TxFrames = int(c.TxSize)
	}
	if c.ZeroCopySegments == 0 {
		c.ZeroCopySegments = maxSegments
	}
	if c.TxBudget == 0 {
		c.TxBudget = int(c.TxSize)
	}
	if c.Spin == 0 {
		c.Spin = defaultSpin
	}
	if c.BusyWait == 0 {
		c.BusyWait = defaultBusyWait
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	return c
}

// validate tells everything that is wrong with c, before any system call.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("xsk: config: "+format, args...)) }
	switch {
	case c.Interface == "" && c.Index == 0:
		bad("Interface: a name is required, or Index")
	case len(c.Interface) > maxName:
		bad("Interface %q: longer than %d bytes", c.Interface, maxName)
	case c.Index < 0:
		bad("Index %d: must be positive", c.Index)
	}
	if c.Queue < 0 || c.Queue > maxQueue {
		bad("Queue %d: must be from 0 to %d", c.Queue, maxQueue)
	}
	for _, r := range []struct {
		name string
		size uint32
	}{{"RxSize", c.RxSize}, {"TxSize", c.TxSize}, {"FillSize", c.FillSize}, {"CompletionSize", c.CompletionSize}} {
		if err := ring.CheckSize(r.size); err != nil {
			bad("%s: %w", r.name, err)
		}
	}
	if c.Mode < Best || c.Mode > ZeroCopy {
		bad("Mode %d: not one of Best, Copy, ZeroCopy", c.Mode)
	}
	if c.Direction < Both || c.Direction > TransmitOnly {
		bad("Direction %d: not one of Both, ReceiveOnly, TransmitOnly", c.Direction)
	}
	if c.Wait < Adaptive || c.Wait > Busy {
		bad("Wait %d: not one of Adaptive, Block, Busy", c.Wait)
	}
	if c.RxFrames < 0 || c.TxFrames < 0 || c.TxBudget < 0 {
		bad("RxFrames %d, TxFrames %d, TxBudget %d: must not be negative", c.RxFrames, c.TxFrames, c.TxBudget)
	}
	if c.ZeroCopySegments < 0 {
		bad("ZeroCopySegments %d: must not be negative", c.ZeroCopySegments)
	}
	if c.MultiBuffer && c.Direction != TransmitOnly && c.RxSize < maxSegments {
		bad("RxSize %d: a packet of %d frames would never fit; at least 32 with MultiBuffer", c.RxSize, maxSegments)
	}
	errs = append(errs, c.validateMemory()...)
	return errors.Join(errs...)
}

func (c Config) validateMemory() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("xsk: config: "+format, args...)) }
	area := c.Area
	if c.Share != nil {
		if c.Share.closed.Load() {
			bad("Share: the socket was closed: %w", net.ErrClosed)
		}
		if area != nil && area != c.Share.area {
			bad("Share: its area is not Area; give one of them")
		}
		area = c.Share.area
	}
	if area != nil && (c.ChunkSize != 0 || c.Headroom != 0 || c.TxMetadata != 0 || c.SoftwareChecksum) {
		bad("ChunkSize, Headroom, TxMetadata, SoftwareChecksum: an area has its own")
	}
	for _, p := range []struct {
		name string
		pool *umem.Pool
	}{{"RxPool", c.RxPool}, {"TxPool", c.TxPool}} {
		if p.pool != nil && p.pool.Area() != area {
			bad("%s: not a pool of the socket's area", p.name)
		}
	}
	return errs
}

// maxQueue is the highest queue number that the kernel can tell apart: beyond 16
// bits it would take another queue, the number modulo 65536, without a word
// (xp_assign_dev, net/xdp/xsk_buff_pool.c).
const maxQueue = 1<<16 - 1

// maxName is the longest name of an interface: IFNAMSIZ less the final zero.
const maxName = 15
