// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net/netip"
	"sync"
)

// groups are the multicast groups that were joined, and what the program's
// filters allow.
type groups struct {
	mu      sync.Mutex // guards what follows
	joined  map[netip.Addr]bool
	allowed map[netip.Addr]bool
}

// JoinGroup receives what is sent to a multicast group on the Conn's interface.
// The companion socket joins, so the kernel tells routers and sets the device's
// filter; the datagrams take the fast lane.
func (c *Conn) JoinGroup(group netip.Addr) error {
	group = group.Unmap().WithZone("")
	if !group.IsMulticast() {
		return fmt.Errorf("udp: join %v: not a multicast group", group)
	}
	link := c.link.Load()
	if err := c.lane.JoinGroup(group, link.Index); err != nil {
		return fmt.Errorf("udp: join %v on %s: %w", group, link.Name, err)
	}
	c.groups.mu.Lock()
	if c.groups.joined == nil {
		c.groups.joined = map[netip.Addr]bool{}
	}
	c.groups.joined[group] = true
	c.groups.mu.Unlock()
	return c.filter()
}

// LeaveGroup undoes JoinGroup.
func (c *Conn) LeaveGroup(group netip.Addr) error {
	group = group.Unmap().WithZone("")
	link := c.link.Load()
	c.groups.mu.Lock()
	delete(c.groups.joined, group)
	c.groups.mu.Unlock()
	if err := c.filter(); err != nil {
		return err
	}
	if err := c.lane.LeaveGroup(group, link.Index); err != nil {
		return fmt.Errorf("udp: leave %v on %s: %w", group, link.Name, err)
	}
	return nil
}
