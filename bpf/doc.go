// SPDX-License-Identifier: MIT

// Package bpf puts an XDP program on a network interface that hands the UDP
// datagrams of an endpoint to AF_XDP sockets and leaves all else to the kernel.
//
//	frame ─ not IP, not UDP ──────────────────────────────┐
//	  │     two tags or a service tag (0x88a8)            │
//	  │     broadcast, another MAC address                │
//	  │     fragment, IP options, extension headers       ├─> kernel, as if
//	  │     lengths that contradict each other            │   nothing were there
//	  ├──── no filter for (address, port, VLAN) ──────────┤
//	  ├──── no socket on the receive queue ───────────────┘
//	  └───> AF_XDP socket of the queue
//
// Each way out has a counter (see [Counters]), so that "why did my packet not
// come" has an answer. The program never drops a frame.
//
//	p, err := bpf.Attach(bpf.Config{Interface: "eth0"})
//	err = p.SetQueue(0, fd)                  // an AF_XDP socket bound to eth0, queue 0
//	err = p.Allow(bpf.Filter{Addr: netip.MustParseAddrPort("10.9.0.2:5000")})
//	...
//	err = p.Close()                          // before the sockets are closed
//
// What is taken. The destination MAC address must be the interface's (see
// [Program.SetMAC]) or, for a multicast group with a filter of its own, the
// group's. IPv4 must have no options and be no fragment; IPv6 must be followed
// by UDP directly. The IP length must fit the frame and the UDP length the IP
// length; bytes beyond the UDP length are for the reader to trim. Checksums are
// not looked at. Broadcast always goes to the kernel.
//
// VLAN. A frame may carry one 802.1Q tag. A filter with VLAN 0 takes untagged
// and priority-tagged (VLAN 0) frames, one with VLAN n takes only frames tagged n.
// The program sees tags in the frame only: a device that strips them
// (ethtool: rx-vlan-offload on) shows every frame as untagged. So does a veth whose
// other end sends from a VLAN interface. Metadata tell the tag then.
//
// Metadata. With Config.Metadata another program, of the same decision, puts what the
// driver knows of a frame in front of it: hardware timestamp, hash, VLAN tag. It needs
// native mode, Linux 6.3 with BTF, and a driver that has any (mlx4, mlx5, ice, igc,
// stmmac, veth and others). Each frame tells what it carries: see [Program.Metadata].
//
//	p, err := bpf.Attach(bpf.Config{Interface: "eth0", Metadata: bpf.MetadataAuto})
//	...                                      // f came from a socket of p, area is its memory
//	whole, err := area.Shift(f, -bpf.MetadataSize)
//	b, err := area.Bytes(whole)
//	m, ok := p.Metadata(b[:bpf.MetadataSize])
//
// Life. The program hangs on a BPF link, which the kernel closes with the
// process: a killed process leaves nothing behind. Where links are missing
// (before Linux 5.9) it is attached by netlink and stays after a kill; Info says
// which. A program that somebody else attached is never removed unasked.
//
// Limits. In generic mode on a virtual link a sender's segmentation offload
// arrives as one large frame; switch it off at the sender (tx-udp-segmentation).
// The compiled programs are part of this package: no compiler, no BTF (but for
// metadata), and no change of any resource limit is needed to load them.
package bpf
