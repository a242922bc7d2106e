// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/route"
	"github.com/xdpath/xdpath/internal/wait"
)

// Conn is one UDP port on one interface, with a fast lane over AF_XDP and a
// kernel lane over an ordinary socket.
//
// Its methods may be called by any number of goroutines at once. Close may be
// called from anywhere and ends every wait.
type Conn struct {
	cfg        Config
	local      netip.AddrPort // as bound, with the port that was obtained
	remote     netip.AddrPort // invalid: not connected
	peer       netip.AddrPort // remote as a frame has it, without a zone
	info       Info
	virtual    bool // the interface has no device that finishes checksums
	offload    bool // checksums are left to the device
	launch     bool // paced datagrams carry launch times
	headerRoom int  // where the payload begins in a frame for sending

	queues   []*Queue // with a fast lane
	kernel   *Queue   // instead of them, without one
	in       inlet    // all queues together, for the PacketConn
	writes   wait.Set // what a PacketConn's writes and paced sends wait in
	lane     *lane.Lane
	prog     *bpf.Program // nil: the kernel lane alone
	table    *route.Table // likewise
	nic      *nic.NIC
	watch    *nic.Watcher
	deferred *nic.Deferred // nil: its NAPI is as it was
	done     sync.WaitGroup

	links   atomic.Uint64 // generation of what the interface's own facts say
	link    atomic.Pointer[nic.Link]
	known   flows
	laneAt  atomic.Int64          // when the kernel lane was looked at last, after epoch
	heardAt atomic.Int64          // when it was asked for errors last, for writes to a peer
	unheard atomic.Pointer[error] // of the lane, beside datagrams; the next read's
	packet  atomic.Pointer[PacketConn]
	scratch scratch
	stats   counters

	err     atomic.Pointer[error] // what ended it
	closing sync.Mutex            // held for the length of Close; guards closed
	closed  bool
	events  chan Event
	groups  groups
}

// LocalAddr is the address that it receives on, with the port that was obtained.
func (c *Conn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr is the peer of a connected Conn, invalid otherwise.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Queues are the queues in use, in the order of their numbers. On the kernel lane
// alone there is one, without a socket of AF_XDP.
func (c *Conn) Queues() []*Queue {
	if c.kernel != nil {
		return []*Queue{c.kernel}
	}
	return c.queues
}

// PayloadRoom is the largest payload in bytes that a reserved datagram has room
// for.
func (c *Conn) PayloadRoom() int { return c.payloadRoom() }

func (c *Conn) payloadRoom() int {
	if len(c.queues) == 0 {
		return kernelRoom
	}
	return c.queues[0].sock.Area().ChunkSize() - c.headerRoom
}

// chainRoom is the largest payload that the fast lane can send: in one frame, or, on
// sockets that are multi-buffer, in as many as a packet may have.
func (c *Conn) chainRoom() int {
	s := c.queues[0].sock
	if !s.Info().MultiBuffer {
		return c.payloadRoom()
	}
	return c.payloadRoom() + (s.Info().MaxSegments-1)*(s.Area().ChunkSize()-s.Area().Front())
}

// maxFrame is the longest frame that the interface takes.
func (c *Conn) maxFrame() int { return c.link.Load().MTU + 14 }

func (c *Conn) spin() time.Duration {
	if c.cfg.Spin == 0 {
		return 50 * time.Microsecond
	}
	return c.cfg.Spin
}

// fail ends the Conn: every call from now on, and every blocked one, returns err.
func (c *Conn) fail(err error) {
	if !c.err.CompareAndSwap(nil, &err) {
		return
	}
	c.in.wait.Close()
	c.writes.Close()
	for _, q := range c.Queues() {
		q.in.wait.Close()
	}
}

// ended returns the error that a call on an ended Conn has: what ended it, or err
// if it lives.
func (c *Conn) ended(err error) error {
	if p := c.err.Load(); p != nil {
		return *p
	}
	return err
}

// owns tells whether a is an address of the interface.
func (c *Conn) owns(a netip.Addr) bool {
	for _, p := range c.link.Load().Addrs {
		if p.Addr().WithZone("") == a.WithZone("") {
			return true
		}
	}
	return false
}

// foreign tells of a source that nobody on the wire can have: the kernel drops
// such datagrams, so we do.
func (c *Conn) foreign(u *packet.UDP) bool {
	src := u.Src.Addr()
	return src.IsUnspecified() || src.IsLoopback() || c.owns(src)
}

// scoped adds the interface to a link-local address, as a socket does.
func (c *Conn) scoped(a netip.AddrPort) netip.AddrPort {
	if ip := a.Addr(); ip.Is6() && (ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast()) {
		return netip.AddrPortFrom(ip.WithZone(c.link.Load().Name), a.Port())
	}
	return a
}

// Close ends every blocked call with net.ErrClosed, takes the program off the
// interface, sends what is queued, and gives everything up. Datagrams that the
// caller still holds stay valid until they are released; the error then satisfies
// errors.Is(err, umem.ErrFramesOut) and says how many they are. Closing again
// returns net.ErrClosed.
func (c *Conn) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return opError("close", c, net.ErrClosed)
	}
	c.closed = true
	c.fail(net.ErrClosed)
	if p := c.packet.Load(); p != nil {
		p.end()
	}
	err := c.release()
	close(c.events)
	return err
}

// release gives up all that Listen obtained, in the order that loses nothing: the
// program first, so that new datagrams go to the kernel.
func (c *Conn) release() error {
	var errs []error
	if c.watch != nil {
		c.watch.Close()
	}
	c.done.Wait()
	errs = append(errs, c.undefer())
	if c.prog != nil {
		errs = append(errs, c.prog.Close())
	}
	for _, q := range c.queues {
		errs = append(errs, q.close())
	}
	if c.table != nil {
		errs = append(errs, c.table.Close())
	}
	if c.nic != nil {
		errs = append(errs, c.nic.Close())
	}
	if c.lane != nil {
		errs = append(errs, c.lane.Close())
	}
	return errors.Join(errs...)
}

// undefer puts the interface's NAPI back as it was. An interface that is gone has
// none.
func (c *Conn) undefer() error {
	if c.deferred == nil {
		return nil
	}
	err := c.deferred.Restore()
	c.deferred = nil
	if errors.Is(err, ErrNoInterface) || errors.Is(err, syscall.ENETDOWN) {
		return nil // on a link that is down the next start does it
	}
	return err
}

// close sends what is queued and closes the socket.
func (q *Queue) close() error {
	q.txMu.Lock()
	if q.tail != nil {
		q.tail.Stop()
	}
	q.closed = true
	q.sock.Release(q.spare)
	q.spare = nil
	q.txMu.Unlock()
	return q.sock.Close()
}
