// SPDX-License-Identifier: MIT

// Package route tells a sender of UDP datagrams what the kernel would do with one:
// through which interface it leaves, to which Ethernet address, from which IP
// address, and how large it may be. It decides nothing itself and learns nothing
// from received frames: all of it comes from the kernel's tables, by netlink.
//
//	             RTM_GETROUTE                     notifications
//	Resolve ───> rules, routes, PMTU     follower <── links, addresses, routes,
//	   │                                    │         rules, next hops, neighbours
//	   └───────> mirror: links, neighbours <┘
//	                                        └──> Generation: one more
//
// Routes are asked for each time, so that policy rules, multipath and whatever
// kernels to come can do is the kernel's own doing. Links and neighbours are
// mirrored: the answer comes from the same copy whose changes are announced.
//
// An [Answer] carries the generation at which it was asked for, and is good for as
// long as [Table.Generation] returns the same. That is one atomic load, so that a
// sender can afford it for every datagram:
//
//	t, err := route.Open(route.Config{Ifindex: 3})
//	a, err := t.Resolve(route.Query{Dst: dst})
//	for ... {
//		if a.Gen != t.Generation() {
//			a, err = t.Resolve(route.Query{Dst: dst})
//		}
//		send(a.MAC, a.Src, ...)
//	}
//
// Frames that bypass the kernel do not keep its neighbour entries alive, so a next
// hop in use is kept by [Table.Keep]; the kernel asks who has an address, never
// this package.
//
// Limits. Path MTUs and redirects that the kernel learns have no notification:
// they are noticed at the next change of anything, after [Table.Invalidate], or
// after half a minute. IPsec policies, packet filters and queueing disciplines are
// not part of the answer. Routes of a VRF are seen only through rules.
package route
