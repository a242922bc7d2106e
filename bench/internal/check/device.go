// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"time"
)

func (f *findings) rings(i Interface) {
	const topic = "device rings"
	if i.Ring == nil {
		f.ok(topic, "%s does not tell their sizes", i.driver())
		return
	}
	found := fmt.Sprintf("%d to receive, %d to send (of %d, %d possible)", i.Ring.Rx, i.Ring.Tx, i.Ring.MaxRx, i.Ring.MaxTx)
	if i.Ring.Rx < i.Ring.MaxRx {
		f.add(topic, Note, found, "a burst that is longer than the ring is lost before anybody sees it",
			fmt.Sprintf("ethtool -G %s rx %d # the link may go down for a moment", i.Name, i.Ring.MaxRx))
		return
	}
	f.ok(topic, "%s", found)
}

// What fits where.
const (
	etherHeader = 14
	vlanHeader  = 4
	lead        = 256  // that the kernel keeps for itself at the start of a chunk (XDP_PACKET_HEADROOM)
	chunk       = 2048 // of a default area
	nativePage  = 3506 // what one page of 4096 leaves for the MTU to a native program without frags; veth's own
)

func (f *findings) mtu(m Machine, i Interface) {
	const topic = "MTU"
	frame := i.MTU + etherHeader + vlanHeader
	room := chunk - lead
	found := fmt.Sprintf("%d: frames of up to %d bytes", i.MTU, frame)
	switch {
	case i.Loopback:
	case frame <= room:
		f.ok(topic, "%s fit a chunk of %d", found, chunk)
	case frame <= m.PageSize-lead:
		f.add(topic, OK, found, fmt.Sprintf("they fit a chunk of %d, not one of %d (which holds %d); udp.Conn takes what the MTU needs", m.PageSize, chunk, room), "")
	case m.Version.Before(Version{6, 6}):
		f.add(topic, Warning, found, "larger than any chunk, and frames in several chunks came with Linux 6.6: larger ones go to the kernel or are lost",
			fmt.Sprintf("ip link set %s mtu %d", i.Name, m.PageSize-lead-etherHeader-vlanHeader))
	case i.Features.Known && !i.Features.RxSG && i.MTU > nativePage:
		f.add(topic, Warning, found, i.driver()+" takes no packets of several buffers: a native program is refused at this MTU, the generic mode remains",
			fmt.Sprintf("ip link set %s mtu 1500", i.Name))
	case i.Features.ZeroCopy && i.Features.ZCMaxSegs == 1:
		f.add(topic, Warning, found, "larger than any chunk, and "+i.driver()+" has no frames in several chunks in zero-copy mode",
			fmt.Sprintf("ip link set %s mtu %d", i.Name, m.PageSize-lead-etherHeader-vlanHeader))
	default:
		f.add(topic, Note, found, "larger than a chunk: sockets need MultiBuffer, and receive a frame in several chunks", "")
	}
	if m.Version.Before(Version{5, 18}) && i.MTU > nativePage && !i.Loopback {
		f.add(topic, Warning, fmt.Sprintf("%d, over %d", i.MTU, nativePage), "native programs for that came with Linux 5.18: the generic mode remains",
			fmt.Sprintf("ip link set %s mtu 1500", i.Name))
	}
}

func (f *findings) offloads(i Interface) {
	const topic = "offloads"
	if i.Offloads == nil {
		f.add(topic, Note, i.driver()+" does not tell them", "", "")
		return
	}
	before := len(*f)
	for _, o := range meddlers {
		if now := i.Offloads[o.name]; !now.On || i.Loopback || o.applies != nil && !o.applies(i) {
			continue
		}
		one := Finding{Topic: topic, State: o.state, Found: o.found, Means: o.means}
		if i.Offloads[o.name].Fixed {
			one.Advice = "the driver or its host decides; it cannot be switched off here"
		} else {
			one.Command = fmt.Sprintf("ethtool -K %s %s off", i.Name, o.short)
		}
		*f = append(*f, one)
	}
	if len(*f) == before {
		f.ok(topic, "none that stand in the way")
	}
}

// meddlers are the offloads that change what a program or a receiver sees.
var meddlers = []struct {
	name, short string // the kernel's and ethtool's
	state       State
	applies     func(Interface) bool // nil: to all
	found       string
	means       string
}{
	{"rx-vlan-hw-parse", "rxvlan", Note, nil, "rx-vlan-offload is on",
		"tags are taken off before a program sees the frame: filters for a VLAN match nothing, all VLANs look untagged"},
	{"rx-lro", "lro", Warning, nil, "LRO is on",
		"packets are merged before a program sees them; drivers refuse native programs with it"},
	{"rx-gro-hw", "rx-gro-hw", Warning, nil, "hardware GRO is on",
		"packets may be merged before a program sees them; some drivers refuse native programs with it"},
	{"tx-checksum-ip-generic", "tx", Note, Interface.virtual, "checksums are left to the device when sending",
		"there is none: the other end finds only part of the UDP checksum in a frame and must not take it for damage (xdpath knows them; others' tools may not)"},
}

// virtual tells the interfaces that hand packets to another system in memory.
func (i Interface) virtual() bool {
	return i.Driver == "veth" || i.Driver == "virtio_net" || i.Driver == "tun"
}

func (f *findings) coalescing(i Interface) {
	const topic = "coalescing"
	deferred := false
	for _, n := range i.NAPIs {
		if n.Interrupts == 0 && n.Timeout == 0 {
			continue
		}
		deferred = true
		f.add(topic, Note, fmt.Sprintf("poller %d waits %v, %s in a row", n.ID, time.Duration(n.Timeout), plural(n.Interrupts, "time")),
			"packets are collected for that long before anybody is woken: more throughput, later answers; somebody set it (xdpath restores what it set)", "")
	}
	switch c := i.Coalesce; {
	case c == nil && !deferred:
		f.ok(topic, "%s does not tell", i.driver())
	case c == nil:
	case c.AdaptiveRx:
		f.add(topic, Note, "the device adapts how long it collects packets", "latency follows the load; for a steady one:",
			fmt.Sprintf("ethtool -C %s adaptive-rx off rx-usecs 0", i.Name))
	case c.RxUsecs > 0:
		f.add(topic, Note, fmt.Sprintf("the device collects for %d µs or %s", c.RxUsecs, plural(c.RxFrames, "frame")),
			fmt.Sprintf("up to %d µs later, for fewer interrupts", c.RxUsecs), fmt.Sprintf("ethtool -C %s rx-usecs 0", i.Name))
	case !deferred:
		f.ok(topic, "none: each packet is told at once")
	}
}

func (f *findings) metadata(i Interface) {
	if !i.Features.Known {
		f.add("RX hints", Note, "not told by this kernel", "Linux 6.3 and later tell", "")
		return
	}
	f.ok("RX hints", "%s", offered(map[string]bool{"timestamp": i.Features.RxTimestamp, "hash": i.Features.RxHash, "VLAN tag": i.Features.RxVLANTag}))
	f.ok("TX metadata", "%s", offered(map[string]bool{"timestamp": i.Features.TxTimestamp, "checksum": i.Features.TxChecksum, "launch time": i.Features.TxLaunchTime}))
}
