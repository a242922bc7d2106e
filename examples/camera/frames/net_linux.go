// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// end is one end of the link, in a network namespace of its own. The namespace has no
// name: it is gone with the process, however that ends.
type end struct {
	ns   netns.NsHandle
	name string
	addr netip.Addr
}

// network is a private link.
type network struct{ a, b end }

// newNetwork makes a link with an MTU. When it returns, both ends are up.
func newNetwork(mtu int) (n *network, err error) {
	n = &network{
		a: end{netns.None(), "camera", netip.MustParseAddr("10.9.0.1")},
		b: end{netns.None(), "receiver", netip.MustParseAddr("10.9.0.2")},
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("frames: private network (it needs root): %w", err), n.close())
		}
	}()
	for _, e := range []*end{&n.a, &n.b} {
		if err := onThread(func() (err error) { e.ns, err = netns.New(); return err }); err != nil {
			return n, err
		}
	}
	if err := n.a.do(func() error { return n.link(mtu) }); err != nil {
		return n, err
	}
	return n, errors.Join(n.a.do(n.a.up), n.b.do(n.b.up), n.a.do(n.a.ready), n.b.do(n.b.ready))
}

func (n *network) link(mtu int) error {
	return netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: n.a.name, MTU: mtu},
		PeerName:  n.b.name, PeerNamespace: netlink.NsFd(n.b.ns), PeerMTU: uint32(mtu),
	})
}

func (n *network) close() error {
	var errs []error
	for _, e := range []*end{&n.a, &n.b} {
		if e.ns.IsOpen() {
			errs = append(errs, e.ns.Close())
		}
	}
	return errors.Join(errs...)
}

// up gives the end its address and sets it up.
func (e *end) up() error {
	l, err := netlink.LinkByName(e.name)
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(netip.PrefixFrom(e.addr, 24).String())
	if err != nil {
		return err
	}
	return errors.Join(netlink.AddrAdd(l, addr), netlink.LinkSetUp(l))
}

// ready waits until the end can send.
func (e *end) ready() error {
	for giveUp := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByName(e.name)
		if err != nil || l.Attrs().OperState == netlink.OperUp {
			return err
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("%s has no carrier", e.name)
		}
	}
}

// do runs f in the end's namespace. Sockets that it opens stay there.
func (e *end) do(f func() error) error {
	return onThread(func() error {
		if err := netns.Set(e.ns); err != nil {
			return err
		}
		return f()
	})
}

// onThread runs f on a thread that is thrown away.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}
