// SPDX-License-Identifier: MIT

// Package nic tells facts about network interfaces, and tells when they change. On
// request it defers an interface's interrupts, and puts back what was there before.
//
// The facts come from the kernel by netlink, and for the driver's name by the
// ethtool ioctl. /sys is never read: in a namespace that was just made it shows
// the interfaces of another one.
//
//	rtnetlink          name, kind, address, MTU, state, addresses, programs
//	ethtool netlink    active and possible queues (the ioctl before Linux 5.6)
//	netdev netlink     XDP features (Linux 6.3), NAPIs and their values (Linux 6.13)
//	a private sysfs    the values of all NAPIs of an interface (before that)
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
//	d, err := n.DeferNAPI(nil, nic.Deferral{})
//	err = d.Restore()         // a crash leaves a record, for the next start
//
// No privilege is needed, except for the names of programs and to defer interrupts.
package nic
