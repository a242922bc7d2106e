// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// carrierWait bounds the wait for a link to work. A veth takes about a
// millisecond; the kernel spaces its link work by a second when there is much.
const carrierWait = 10 * time.Second

// firstIndex is the index of the first end of the first link; the kernel gives the
// second end the next one free from 2. The two differ, so that a test that takes one
// for the other is found out, and because the kernel may sit on a change of carrier
// for a second if it believes that the interface has no other end.
const firstIndex = 11

// join makes a veth between the namespaces of two ends whose NS is set, as the
// n-th link of a network, and fills in the rest of both ends.
func join(a, b *End, cfg Config, n int) error {
	a.Name, b.Name = newNames(cfg.Prefix)
	a.IP4, a.IP6 = subnet(n, 1)
	b.IP4, b.IP6 = subnet(n, 2)
	if !cfg.IPv6 {
		a.IP6, b.IP6 = netip.Addr{}, netip.Addr{}
	}
	a.Index = firstIndex + n
	if err := addVeth(a, b, cfg); err != nil {
		return err
	}
	for _, e := range []*End{a, b} {
		if err := e.setup(cfg); err != nil {
			return err
		}
	}
	for _, e := range []*End{a, b} {
		if err := e.waitRunning(carrierWait); err != nil {
			return err
		}
		if !cfg.IPv6 {
			continue
		}
		if err := e.waitLinkLocal(carrierWait); err != nil {
			return err
		}
	}
	return nil
}

// addVeth creates both interfaces in one request, each in its namespace from the
// start: none of them is ever seen elsewhere.
func addVeth(a, b *End, cfg Config) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = a.Name
	attrs.Index = a.Index
	attrs.MTU = cfg.MTU
	attrs.NumRxQueues = max(cfg.Queues, minMaxQueues)
	attrs.NumTxQueues = attrs.NumRxQueues
	veth := netlink.NewVeth(attrs)
	veth.PeerName = b.Name
	veth.PeerNamespace = netlink.NsFd(b.NS.FD())
	err := a.NS.route(func(h *netlink.Handle) error { return h.LinkAdd(veth) })
	if err != nil {
		return fmt.Errorf("testnet: add veth %s %s: %w", a.Name, b.Name, err)
	}
	return nil
}

// setup learns what the kernel gave a new end, and configures it.
func (e *End) setup(cfg Config) error {
	link, err := e.lookup()
	if err != nil {
		return err
	}
	e.Index, e.MAC = link.Attrs().Index, link.Attrs().HardwareAddr
	// The interface was made with room to grow; all its queues are active now.
	if err := e.SetQueues(cfg.Queues); err != nil {
		return err
	}
	if err := e.AddAddr(netip.PrefixFrom(e.IP4, 24)); err != nil {
		return err
	}
	if cfg.IPv6 {
		if err := e.AddAddr(netip.PrefixFrom(e.IP6, 64)); err != nil {
			return err
		}
	}
	return e.SetUp(true)
}

// lookup finds a new end by name, before its index is known.
func (e *End) lookup() (link netlink.Link, err error) {
	err = e.NS.route(func(h *netlink.Handle) error {
		link, err = h.LinkByName(e.Name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("testnet: look up %s: %w", e.Name, err)
	}
	return link, nil
}

// waitRunning waits until the interface is operational. Carrier alone is not
// enough: until the kernel has activated its queueing discipline, which it does in
// the background, all that is sent is dropped.
func (e *End) waitRunning(limit time.Duration) error {
	var flags uint32
	ok, err := waitFor(limit, func() (bool, error) {
		link, err := e.link()
		if err != nil {
			return false, err
		}
		flags = link.Attrs().RawFlags
		return flags&unix.IFF_RUNNING != 0 && flags&unix.IFF_LOWER_UP != 0, nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("flags %#x after %v: %w", flags, limit, errNoCarrier)
	}
	if err != nil {
		return fmt.Errorf("testnet: wait for carrier of %s: %w", e.Name, err)
	}
	return nil
}

// waitLinkLocal waits for the link-local address, which the kernel makes in the
// background once there is carrier: addresses must not change under a test.
func (e *End) waitLinkLocal(limit time.Duration) error {
	ok, err := waitFor(limit, func() (found bool, err error) {
		err = e.change("list addresses of", func(h *netlink.Handle, link netlink.Link) error {
			addrs, err := h.AddrList(link, netlink.FAMILY_V6)
			for _, a := range addrs {
				found = found || a.IP.IsLinkLocalUnicast() && a.Flags&unix.IFA_F_TENTATIVE == 0
			}
			return err
		})
		return found, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("testnet: wait for link-local address of %s: none after %v", e.Name, limit)
	}
	return err
}

var errNoCarrier = errors.New("no carrier")

// waitFor asks until the condition holds, an error comes or the limit has passed.
func waitFor(limit time.Duration, cond func() (bool, error)) (bool, error) {
	end := time.Now().Add(limit)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		ok, err := cond()
		if ok || err != nil {
			return ok, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		time.Sleep(pause)
	}
}
