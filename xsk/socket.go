// SPDX-License-Identifier: MIT

package xsk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/internal/wait"
	"github.com/xdpath/xdpath/umem"
)

// Socket is an open AF_XDP socket.
//
// Any number of goroutines may call its methods at once. Receiving holds one
// lock and sending another, each once a batch: one receiver and one sender never
// wait for each other. Close may be called from anywhere and ends every wait.
//
// Locks are taken in this order: closing, the area's for opening, rxMu, txMu, and
// then a pair's, a pool's or a wait's. Who holds txMu never takes rxMu.
type Socket struct {
	cfg    Config
	info   Info
	area   *umem.Area
	own    bool // made the area, which is closed with the last socket on it
	made   bool // txPool is closed with the socket
	rings  *pair
	os     kernel
	rxWait wait.Waiter
	txWait wait.Set
	mtu    atomic.Int64 // bytes of network packet that the interface takes

	metadata   int  // bytes that the area keeps before a frame for sending
	launchTime bool // the kernel knows launch times

	opened  time.Time
	asked   atomic.Int64 // when the kernel was last asked for the device, in ns after opened
	unbound atomic.Bool  // the device is gone

	rxMu sync.Mutex // guards what follows
	rx   *ring.Consumer[desc]
	rxN  rxCounters

	txMu   sync.Mutex // guards what follows
	tx     *ring.Producer[desc]
	txPool *umem.Pool
	txN    txCounters

	closing sync.Mutex // held for the length of Close
	closed  atomic.Bool
	last    kernelStats // the kernel's counters when it was closed
}

// kernel is what a socket asks of the operating system. A test puts a simulator
// in its place and runs the same socket over rings on the heap.
type kernel interface {
	wakeTx() error                    // look at the TX ring
	wakeRx() error                    // look at the fill ring; run the queue's NAPI
	statistics() (kernelStats, error) // the kernel's counters
	present() bool                    // whether the interface is still there; asked in zero-copy mode only
	poller() int                      // descriptor to poll for received frames
	close() error                     // unmap the socket's rings and close its descriptor
}

// kernelStats are the fields of struct xdp_statistics.
type kernelStats struct {
	rxDropped, rxInvalid, txInvalid, rxRingFull, rxFillEmpty, txRingEmpty uint64
}

// rxCounters and txCounters are written under the lock of their side.
type rxCounters struct{ frames, packets, bytes, wakeups, invalid uint64 }
type txCounters struct{ frames, packets, bytes, wakeups, lost uint64 }

// Area is the memory that the socket's frames are from.
func (s *Socket) Area() *umem.Area { return s.area }

// Info tells what was obtained.
func (s *Socket) Info() Info { return s.info }

// FD is the socket's descriptor, for a queue map or to poll; -1 once it is
// closed. It stays the socket's: do not close it, and know that a copy of it
// that is still open keeps the queue busy after Close. Reading and writing it
// gives nothing (EOPNOTSUPP): frames go through the rings only.
func (s *Socket) FD() int {
	s.rxMu.Lock()
	defer s.rxMu.Unlock()
	if s.closed.Load() {
		return -1
	}
	return s.os.poller()
}

// RxPool is the pool that the fill ring is fed from.
func (s *Socket) RxPool() *umem.Pool { return s.rings.pool }

// TxPool is the pool that Reserve takes frames from; nil on a receive-only
// socket that was not given one.
func (s *Socket) TxPool() *umem.Pool { return s.txPool }

// SetMTU tells the socket that the interface now takes network packets of n
// bytes. It learns the MTU once, when it opens; who watches the interface keeps
// it right.
func (s *Socket) SetMTU(n int) { s.mtu.Store(int64(n)) }

// MTU is the limit in force, see SetMTU.
func (s *Socket) MTU() int { return int(s.mtu.Load()) }
