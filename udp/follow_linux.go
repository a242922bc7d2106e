// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/nic"
)

// follow keeps the Conn in step with its interface.
func (c *Conn) follow() {
	var off <-chan time.Time // the program has been off the interface for too long
	for {
		select {
		case <-off:
			c.fail(fmt.Errorf("udp: %s: %w", c.info.Interface, ErrDetached))
			off = nil
		case ev, open := <-c.watch.Events():
			if !open {
				return
			}
			if c.apply(ev) && off == nil {
				off = time.After(goneFirst)
			}
		}
	}
}

// goneFirst is how long a lost program may come before the news that the whole
// interface is gone, which is the better reason.
const goneFirst = 300 * time.Millisecond

// apply does what an event asks for, and reports whether the program is lost.
func (c *Conn) apply(ev nic.Event) (lost bool) {
	link := ev.Link
	if ev.Kind != nic.Gone {
		c.link.Store(&link)
	}
	var err error
	switch ev.Kind {
	case nic.Gone:
		c.fail(fmt.Errorf("udp: %s: deleted, or moved to another network namespace: %w", c.info.Interface, ErrNoInterface))
	case nic.MTUChanged:
		for _, q := range c.queues {
			q.sock.SetMTU(link.MTU)
		}
		err = c.outgrown()
	case nic.MACChanged:
		if c.prog != nil {
			err = c.prog.SetMAC(link.MAC)
		}
	case nic.AddrChanged:
		err = c.filter()
	case nic.ProgramChanged:
		if c.prog != nil {
			on, e := c.prog.Attached()
			lost = e == nil && !on
		}
	}
	c.links.Add(1)
	c.tell(Event{Kind: ev.Kind.String(), Err: err})
	return lost
}

// filter makes the program's filters those of the interface's addresses and of the
// groups that were joined.
func (c *Conn) filter() error {
	if c.prog == nil {
		return nil
	}
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	want := map[netip.Addr]bool{}
	for _, a := range c.addresses(c.link.Load()) {
		want[a] = true
	}
	for g := range c.groups.joined {
		want[g] = true
	}
	for a := range c.groups.allowed {
		if !want[a] {
			if err := c.prog.Deny(c.filterFor(a)); err != nil {
				return err
			}
			delete(c.groups.allowed, a)
		}
	}
	for a := range want {
		if c.groups.allowed[a] {
			continue
		}
		if err := c.prog.Allow(c.filterFor(a)); err != nil {
			return err
		}
		if c.groups.allowed == nil {
			c.groups.allowed = map[netip.Addr]bool{}
		}
		c.groups.allowed[a] = true
	}
	return nil
}

func (c *Conn) filterFor(a netip.Addr) bpf.Filter {
	return bpf.Filter{Addr: netip.AddrPortFrom(a, c.local.Port()), VLAN: c.info.vlan}
}

// virtual tells whether frames may come with a checksum that only a device would
// have finished.
func virtual(link nic.Link) bool {
	for _, kind := range []string{"veth", "virtio", "tun", "tap", "macvlan", "macvtap", "ipvlan", "bridge", "netkit", "xen", "vif", "hv_netvsc", "lo"} {
		if strings.HasPrefix(link.Kind, kind) || strings.HasPrefix(link.Driver, kind) {
			return true
		}
	}
	return false
}

// interfaceOf finds the interface that has an address.
func interfaceOf(a netip.Addr) (string, error) {
	links, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("udp: listen on %v: %w", a, err)
	}
	for _, l := range links {
		addrs, err := l.Addrs()
		if err != nil {
			continue
		}
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().Unmap() == a.WithZone("") && (a.Zone() == "" || a.Zone() == l.Name) {
				return l.Name, nil
			}
		}
	}
	return "", fmt.Errorf("udp: listen on %v: no interface has this address: %w", a, errNotAvailable)
}
