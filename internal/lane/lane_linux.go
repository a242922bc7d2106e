// SPDX-License-Identifier: MIT

package lane

import (
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// Lane is an open kernel UDP socket.
//
// All methods may be called from any goroutine at any time. Receivers wait for each
// other, and senders do, but no call waits for the network.
type Lane struct {
	// fd is the socket, -1 after Close. Close changes it with the locks of ctl, in
	// and out all held, so holding one of them is enough to use it.
	fd  int
	ctl sync.Mutex // for what is neither receiving nor sending
	in  receiver
	out sender

	pool  *pool
	count counters
	drops dropCount
	info  Info // but for GSO, which out keeps; fixed by Open, but for the buffers under ctl
	ip6   bool // the socket's family
}

// FD is the socket's descriptor, for poll(2); -1 after Close. It is readable when
// datagrams or an error wait, save those that Pending tells of. End the waits before
// Close: it wakes them, but a poll(2) that is woken looks the number up again, and
// may by then find another file under it.
func (l *Lane) FD() int {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	return l.fd
}

// LocalAddr is the address that the socket is bound to, with its port.
func (l *Lane) LocalAddr() netip.AddrPort { return l.info.Local }

// Info is what was obtained. GSO can change later, see SendSegments.
func (l *Lane) Info() Info {
	l.ctl.Lock()
	info := l.info
	l.ctl.Unlock()
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	info.GSO = l.out.gso
	return info
}

// Stats counts since Open. It asks the kernel for the number of drops.
func (l *Lane) Stats() Stats {
	l.ctl.Lock()
	l.observeDrops()
	l.ctl.Unlock()
	s := l.count.stats()
	s.KernelDrops = l.drops.total.Load()
	s.BadReleases = l.pool.badReleases()
	return s
}

// observeDrops reads the kernel's count; the lock of ctl is held. A kernel before
// 4.12 does not answer: there the count comes with the next datagram only.
func (l *Lane) observeDrops() {
	if l.fd < 0 {
		return
	}
	if n, err := socketDrops(l.fd); err == nil {
		l.drops.observe(n)
	}
}

// Release gives back received messages and clears them, so that giving back a
// slice twice does nothing. The messages may be of several calls and in any order.
func (l *Lane) Release(msgs []Message) { l.pool.release(msgs) }

// Close closes the socket. A poll(2) on its descriptor ends; calls that follow
// return net.ErrClosed. Messages that are out stay valid until they are released.
// Closing again does nothing.
func (l *Lane) Close() error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.fd < 0 {
		return nil
	}
	l.observeDrops()
	// Wakes those who poll the socket, which closing does not. ENOTCONN without
	// a peer, and it wakes them all the same (inet_shutdown, net/ipv4/af_inet.c).
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
	err := unix.Close(l.fd)
	l.fd = -1
	l.in.drop()
	if err != nil {
		return fmt.Errorf("lane: close %v: %w", l.info.Local, err)
	}
	return nil
}
