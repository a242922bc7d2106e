// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/nic"
)

// follow keeps the Conn in step with its interface.
func (c *Conn) follow() {
	for ev := range c.watch.Events() {
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
		case nic.MACChanged:
			if c.prog != nil {
				err = c.prog.SetMAC(link.MAC)
			}
		case nic.AddrChanged:
			err = c.filter(&link)
		case nic.ProgramChanged:
			c.checkProgram()
		}
		c.links.Add(1)
		c.tell(Event{Kind: ev.Kind.String(), Err: err})
	}
}

// checkProgram ends the Conn when its program is not on the interface any more.
func (c *Conn) checkProgram() {
	if c.prog == nil {
		return
	}
	if on, err := c.prog.Attached(); err == nil && !on {
		c.fail(fmt.Errorf("udp: %s: %w", c.info.Interface, ErrDetached))
	}
}

// filter makes the program's filters those of the interface's addresses and of the
// groups that were joined.
func (c *Conn) filter(link *nic.Link) error {
	if c.prog == nil {
		return nil
	}
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	want := map[netip.Addr]bool{}
	for _, a := range c.addresses(link) {
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

func pageSize() int { return os.Getpagesize() }
