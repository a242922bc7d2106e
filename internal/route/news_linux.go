// SPDX-License-Identifier: MIT

package route

import (
	"golang.org/x/sys/unix"
)

// cause is what changed.
type cause int

const (
	linkChanged cause = iota
	addressChanged
	routeChanged
	ruleChanged // or a next hop object
	neighbourChanged
	overrun

	numCauses
)

// groups are the notifications to follow.
func groups() []int {
	return []int{
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV6_IFINFO,
		unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
		unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE,
		unix.RTNLGRP_NEIGH,
	}
}

// apply takes a notification, and tells whether it may concern an answer, and why.
func (m *mirror) apply(typ uint16, body []byte) (c cause, news bool, err error) {
	switch typ {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		news, err = m.applyLink(typ, body)
		return linkChanged, news, err
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		news, err = m.applyNeighbour(typ, body)
		return neighbourChanged, news, err
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return addressChanged, true, nil
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return routeChanged, !isCached(body), nil
	case unix.RTM_NEWRULE, unix.RTM_DELRULE,
		unix.RTM_NEWNEXTHOP, unix.RTM_DELNEXTHOP,
		unix.RTM_NEWNEXTHOPBUCKET, unix.RTM_DELNEXTHOPBUCKET:
		return ruleChanged, true, nil
	}
	return 0, false, nil
}

func (m *mirror) applyLink(typ uint16, body []byte) (bool, error) {
	found, err := parseLink(body)
	if err != nil {
		return false, err
	}
	switch found.family {
	case unix.AF_INET6:
		return typ == unix.RTM_NEWLINK && m.setMTU6(found.index, found.link.mtu6), nil
	case unix.AF_UNSPEC:
		if typ == unix.RTM_DELLINK {
			return m.deleteLink(found.index), nil
		}
		return m.setLink(found.index, found.link), nil
	}
	return false, nil // a bridge about its ports, for one
}

func (m *mirror) applyNeighbour(typ uint16, body []byte) (bool, error) {
	h, n, ok, err := parseNeighbour(body)
	if err != nil || !ok {
		return false, err
	}
	if typ == unix.RTM_DELNEIGH {
		n = neighbour{}
	}
	return m.setNeighbour(h, n), nil
}
