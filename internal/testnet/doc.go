// SPDX-License-Identifier: MIT

// Package testnet builds private networks for tests, the bench and the examples:
// network namespaces joined by veth pairs, with nothing to install and nothing to
// clean up.
//
//	  NS a                      NS b
//	┌──────────────┐          ┌──────────────┐
//	│ End A        │   veth   │        End B │
//	│ 10.9.0.1/24 ─┼──────────┼─ 10.9.0.2/24 │
//	└──────────────┘          └──────────────┘
//
// The namespaces have no name and no mount: each lives as long as a descriptor, a
// socket, a thread or a process of it does. A killed program therefore leaves
// nothing behind, neither namespace nor interface. Everything is done by netlink
// and ioctl; no ip, no ethtool, no sysctl program is run.
//
// A test needs two lines:
//
//	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
//	err := pair.B.NS.Do(func() error { return open(pair.B.Name) })
//
// All of it needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN). Require turns a missing
// right into a skip that says what to do, or into a failure where the environment
// sets XDPATH_TEST_REQUIRE=1.
//
// The package is Linux only; elsewhere it is empty. It does not import "testing",
// so that programs may use it.
package testnet
