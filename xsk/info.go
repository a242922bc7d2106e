// SPDX-License-Identifier: MIT

package xsk

import "fmt"

// Attempt is one try at binding a socket.
type Attempt struct {
	Mode Mode
	Err  error // nil: this one it became
}

func (a Attempt) String() string {
	if a.Err == nil {
		return a.Mode.String() + ": ok"
	}
	return fmt.Sprintf("%v: %v", a.Mode, a.Err)
}

// Info is what a socket obtained.
type Info struct {
	Interface      string // name when the socket was opened; the index stays when it is renamed
	Index          int
	Queue          int
	Driver         string // as the driver calls itself; empty if it does not tell
	Mode           Mode   // Copy or ZeroCopy, as read back from the kernel
	Attempts       []Attempt
	MultiBuffer    bool
	MaxSegments    int // frames of one packet that is sent
	BusyPoll       bool
	TxBudget       int // frames that one wakeup may send in copy mode
	RxSize         uint32
	TxSize         uint32
	FillSize       uint32
	CompletionSize uint32
	Locked         int      // bytes of memory that the area locks
	Notes          []string // what was asked and could not be had, and why
}

// Stats are a socket's counters since it was opened, and how full its rings are.
type Stats struct {
	RxFrames, RxPackets, RxBytes uint64 // received; a packet may be several frames
	TxFrames, TxPackets, TxBytes uint64 // put into the TX ring
	TxCompleted                  uint64 // frames that came back through the completion ring, which sockets of one queue share
	TxLost                       uint64 // packets that the device refused after taking them (EBUSY: link down, over its limit); not those of poll(2), see Send
	RxWakeups, TxWakeups         uint64 // system calls that told the kernel to look at a ring
	Sleeps, Naps                 uint64 // waits in poll(2); waits by the clock
	Invalid                      uint64 // descriptors from the kernel that name no chunk in its hands: a bug, and zero

	// The kernel's own counters (struct xdp_statistics of
	// include/uapi/linux/if_xdp.h).
	RxDropped     uint64 // no chunk in the fill ring, or too big for one
	RxInvalid     uint64 // bad addresses in the fill ring
	TxInvalid     uint64 // bad descriptors in the TX ring
	RxRingFull    uint64 // we were too slow
	RxFillEmpty   uint64 // those of RxDropped for which there was no chunk
	TxRingDrained uint64 // tx_ring_empty_descs: times a wakeup drained the ring. Not an error.

	FillUsed, RxUsed, TxUsed, DoneUsed uint32 // entries in the rings now
}

// RxTooBig is the number of packets that were dropped because they did not fit
// into a frame (or, on some drivers, for other reasons than a lack of chunks).
func (s Stats) RxTooBig() uint64 { return s.RxDropped - min(s.RxDropped, s.RxFillEmpty) }

// RxLost is the number of packets that reached the socket and could not be
// delivered. Each is counted once: a starved fill ring shows in RxDropped too.
func (s Stats) RxLost() uint64 { return s.RxDropped + s.RxRingFull }
