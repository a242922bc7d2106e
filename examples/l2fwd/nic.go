// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"net/netip"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

const (
	// ringSize is the number of entries of each of a socket's four rings.
	ringSize = 1024
	// poolSize is how many chunks an interface receives into. Those that wait to
	// be sent are in the other side's TX ring, and those that were sent wait in
	// its completion ring until it is reaped; with more chunks than these two can
	// hold, there is always one left for receiving.
	poolSize = 3 * ringSize
)

// nic is one interface: an AF_XDP socket on one of its queues, and the program that
// redirects datagrams to it.
type nic struct {
	name    string
	socket  *xsk.Socket
	program *bpf.Program
}

// openNIC opens an interface on memory that others may use too. The socket comes
// first: once the program redirects, chunks must be there to receive into.
func openNIC(area *umem.Area, name string, queue int, port uint16) (*nic, error) {
	pool, err := area.NewPool(poolSize)
	if err != nil {
		return nil, err
	}
	n := &nic{name: name}
	n.socket, err = xsk.Open(xsk.Config{
		Interface: name, Queue: queue, RxSize: ringSize, TxSize: ringSize,
		Area: area, RxPool: pool,
		TxPool: pool, // never used: all that is sent was received
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if err := n.redirect(queue, port); err != nil {
		return nil, errors.Join(err, n.detach(), n.close())
	}
	return n, nil
}

// redirect makes the interface hand over UDP datagrams to a port, of any address.
// All else stays the kernel's.
func (n *nic) redirect(queue int, port uint16) (err error) {
	n.program, err = bpf.Attach(bpf.Config{Interface: n.name, Queues: queue + 1})
	if err != nil {
		return err
	}
	return errors.Join(
		n.program.SetQueue(queue, n.socket.FD()),
		n.program.Allow(bpf.Filter{Addr: netip.AddrPortFrom(netip.Addr{}, port)}))
}

// detach stops reception. It comes before close, so that no datagram is redirected
// to a socket that is no more: the kernel takes over without a gap.
func (n *nic) detach() error {
	if n.program == nil {
		return nil
	}
	return n.program.Close()
}

// close sends what is in the TX ring and closes the socket.
func (n *nic) close() error { return n.socket.Close() }
