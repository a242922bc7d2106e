// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"slices"
	"strings"
)

// examineInterface judges one interface of a machine.
func examineInterface(m Machine, i Interface) []Finding {
	var f findings
	f.link(i)
	f.mode(m.Version, i)
	f.stacked(i)
	f.programs(i)
	f.bound(m, i)
	f.queues(m, i)
	f.rings(i)
	f.mtu(m, i)
	f.offloads(i)
	f.coalescing(i)
	f.interrupts(m, i)
	f.metadata(i)
	f = append(f, badsOf(m.Version, i.Driver, i.Name)...)
	f.blind(i.Blind)
	return f
}

func (f *findings) link(i Interface) {
	who := i.driver()
	if i.Release != "" && i.Kind == "" {
		who += " " + i.Release
	}
	if i.Firmware != "" {
		who += ", firmware " + i.Firmware
	}
	switch {
	case !i.Up:
		f.add("link", Problem, who+", down", "nothing can be opened on it", "ip link set "+i.Name+" up")
	case !i.Carrier:
		f.add("link", Warning, who+", up without carrier", "nothing comes in, and what is sent is lost: the other end is down, or no cable", "")
	default:
		f.ok("link", "%s, up", who)
	}
}

// stacked names the kinds that have another interface under them, or many.
var stacked = []string{"bond", "bridge", "ipvlan", "ipvtap", "macvlan", "macvtap", "openvswitch", "team", "vlan", "vxlan", "geneve", "gretap"}

func (f *findings) stacked(i Interface) {
	const topic = "stacked"
	switch {
	case i.Loopback:
		f.advise(topic, Warning, "the loopback interface", "what AF_XDP sends on it is dropped by the kernel; local traffic needs no bypass", "use a socket, or a veth pair")
	case slices.Contains(stacked, i.Kind):
		under, mend := "what is under it", ""
		if i.Lower != "" {
			under, mend = i.Lower, "bench check "+i.Lower
		}
		f.add(topic, Warning, "a "+i.Kind+" interface", "packets go through other interfaces first, so that at most the generic mode works: use "+under+" instead", mend)
	}
}

// ours are the names of this library's programs (bpf/object.go).
var ours = []string{"xdpath", "xdpath_old", "xdpath_meta"}

func (f *findings) programs(i Interface) {
	const topic = "XDP program"
	if len(i.Programs) == 0 {
		f.ok(topic, "none attached")
		return
	}
	for _, p := range i.Programs {
		found := fmt.Sprintf("program %d (%s) attached, %s", p.ID, orUnknown(p.Name), p.Mode)
		if slices.Contains(ours, p.Name) {
			f.add(topic, Note, found, "an endpoint of this library is open here; another one needs other queues and the first one's program", "")
			continue
		}
		f.add(topic, Problem, found, "it is somebody else's: xdpath does not remove it unasked, and there is room for one", removal(i.Name, p))
	}
}

func orUnknown(name string) string {
	if name == "" {
		return "name unknown"
	}
	return name
}

// removal is the command that takes a program off.
func removal(name string, p Program) string {
	if p.Link != 0 {
		return fmt.Sprintf("bpftool link detach id %d # or end the process that holds it", p.Link)
	}
	word := map[string]string{"native": "xdpdrv", "generic": "xdpgeneric", "offload": "xdpoffload"}[p.Mode]
	return fmt.Sprintf("ip link set dev %s %s off", name, word)
}

func (f *findings) bound(m Machine, i Interface) {
	const topic = "bound queues"
	if !i.BoundKnown {
		f.add(topic, Note, "not told by this kernel", "whether somebody's AF_XDP socket sits on a queue shows when it is opened (EBUSY); Linux 6.15 and later tell", "")
		return
	}
	if len(i.Bound) == 0 {
		f.ok(topic, "none: no AF_XDP socket on any queue")
		return
	}
	state, means := Warning, "these queues are busy (EBUSY) until their sockets are closed; others are free"
	if len(i.Bound) >= i.RxQueues {
		state, means = Problem, "every queue is busy (EBUSY) until its socket is closed"
	}
	if owners := i.holders(); len(owners) > 0 {
		means += "; held by " + ownersText(owners)
	} else if len(m.Owners) > 0 {
		means += "; processes that have AF_XDP sockets here: " + ownersText(m.Owners)
	}
	f.add(topic, state, fmt.Sprintf("an AF_XDP socket on queue %s of %d", list(i.Bound), i.RxQueues), means, "")
}

// holders are the processes that hold the interface's sockets, each once.
func (i Interface) holders() (all []Owner) {
	for _, s := range i.Sockets {
		for _, o := range s.Owners {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// list writes numbers as "0, 1, 5".
func list(numbers []int) string {
	var s []string
	for _, n := range numbers {
		s = append(s, fmt.Sprint(n))
	}
	return strings.Join(s, ", ")
}

func (f *findings) queues(m Machine, i Interface) {
	const topic = "queues"
	found := fmt.Sprintf("%d to receive, %d to send", i.RxQueues, i.TxQueues)
	if i.MaxRxQueues > i.RxQueues || i.MaxTxQueues > i.TxQueues {
		found += fmt.Sprintf(" (of %d, %d possible)", i.MaxRxQueues, i.MaxTxQueues)
	}
	one := fmt.Sprintf("ethtool -L %s combined 1", i.Name)
	if i.Driver == "veth" {
		one = fmt.Sprintf("ethtool -L %s rx 1 tx 1", i.Name)
	}
	switch {
	case i.RxQueues == 0:
		f.add(topic, Note, "the kernel tells no number", "", "")
	case i.RxQueues > m.CPUs:
		f.add(topic, Note, found+fmt.Sprintf(", %s", plural(m.CPUs, "processor")), "a socket sees one queue: more queues than processors only spread packets thinner",
			one+" # or as many as processors")
	case i.RxQueues > 1:
		means, mend := "a socket sees one queue: packets of the others go to the kernel unless each has one (udp.Conn opens all)", one
		if i.Offloads["rx-ntuple-filter"].On {
			mend += fmt.Sprintf(" # or: ethtool -N %s flow-type udp4 dst-port 5000 action 0", i.Name)
		}
		f.add(topic, Note, found, means, mend)
	default:
		f.ok(topic, "%s", found)
	}
}
