// SPDX-License-Identifier: MIT

package bpf

import (
	"net/netip"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/bpf/internal/model"
)

// What the program answers (include/uapi/linux/bpf.h).
const (
	xdpPass     = 2
	xdpRedirect = 4
)

// target is the endpoint that the tests open; the addresses are those of end B of
// a test pair.
var target = frames.Target{
	MAC:    [6]byte{0x02, 0, 0, 0, 0, 0xbb},
	IP4:    netip.MustParseAddr("10.9.0.2"),
	IP6:    netip.MustParseAddr("fd09::2"),
	Group4: netip.MustParseAddr("239.129.2.3"),
	Group6: netip.MustParseAddr("ff02::1:3"),
	Port:   5000,
	VLAN:   7,
}

// filters are what the decision tests allow: the target in all its forms, and
// "any address" on one port of each family.
func filters() []Filter {
	at := netip.AddrPortFrom
	return []Filter{
		{Addr: at(target.IP4, target.Port)},
		{Addr: at(target.IP4, target.Port), VLAN: target.VLAN},
		{Addr: at(target.IP6, target.Port)},
		{Addr: at(target.IP6, target.Port), VLAN: target.VLAN},
		{Addr: at(target.Group4, target.Port)},
		{Addr: at(target.Group6, target.Port), VLAN: target.VLAN},
		{Addr: at(netip.IPv4Unspecified(), target.Port+1)},
		{Addr: at(netip.IPv6Unspecified(), target.Port+1), VLAN: target.VLAN},
		{Addr: at(netip.Addr{}, target.Port<<8|target.Port>>8)},
	}
}

// modelOf is the model with the same tables.
func modelOf(list []Filter, queues ...int) *model.Model {
	m := &model.Model{MAC: target.MAC, Filters: map[model.Filter]bool{}, Sockets: map[int]bool{}}
	for _, f := range list {
		addr, port := f.Addr.Addr(), f.Addr.Port()
		if addr.IsValid() {
			m.Filters[model.Filter{Addr: addr, Port: port, VLAN: f.VLAN}] = true
			continue
		}
		m.Filters[model.Filter{Addr: netip.IPv4Unspecified(), Port: port, VLAN: f.VLAN}] = true
		m.Filters[model.Filter{Addr: netip.IPv6Unspecified(), Port: port, VLAN: f.VLAN}] = true
	}
	for _, q := range queues {
		m.Sockets[q] = true
	}
	return m
}

// reasonCounts gives the counters by reason.
func reasonCounts(c Counters) (list [model.Reasons]uint64) {
	for i, n := range c.fields() {
		list[i] = *n
	}
	return list
}
