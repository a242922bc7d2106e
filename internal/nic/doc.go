// SPDX-License-Identifier: MIT

// Package nic tells facts about network interfaces, and tells when they change.
//
// The facts come from the kernel by netlink, and for the driver's name by the
// ethtool ioctl. sysfs is never read: in a namespace that was just made it shows
// the interfaces of another one.
//
//	rtnetlink          name, kind, address, MTU, state, addresses, programs
//	ethtool netlink    active and possible queues (the ioctl before Linux 5.6)
//	netdev netlink     XDP features (Linux 6.3)
//
// An interface is held by its index: a rename does not disturb, and an interface
// that was deleted and made again under the same name is another one. A handle
// belongs to the network namespace of the thread that opened it, and may be used
// from any goroutine afterwards.
//
//	n, err := nic.Open("eth0")
//	link, err := n.Link()     // fresh facts
//	w, err := n.Watch()
//	for e := range w.Events() { ... }
//
// No privilege is needed, except for the names of programs.
package nic
