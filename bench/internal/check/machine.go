// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"slices"
	"strings"
)

// oldest is the first kernel that the library works with.
var oldest = Version{5, 4}

// milestones are what came with which kernel, as far as it makes a difference here.
var milestones = []struct {
	since Version
	what  string
}{
	{Version{5, 9}, "programs that leave the interface with their process (5.9)"},
	{Version{5, 10}, "one area of memory for several queues (5.10)"},
	{Version{5, 11}, "busy polling that the socket prefers (5.11)"},
	{Version{5, 18}, "native programs at MTUs over 3,506 (5.18)"},
	{Version{6, 3}, "what a driver can do, told by itself; receive metadata (6.3)"},
	{Version{6, 6}, "frames in several chunks (6.6)"},
	{Version{6, 8}, "checksums and timestamps by the device when sending (6.8)"},
	{Version{6, 17}, "more than 32 frames a system call in copy mode (6.17)"},
}

// examineMachine judges the machine and this process's rights.
func examineMachine(m Machine) []Finding {
	var f findings
	f.kernel(m)
	f.config(m)
	f.jit(m)
	f.capabilities(m)
	f.memlock(m)
	f.pages(m)
	f.processors(m)
	f.socketBuffers(m)
	f.owners(m)
	f = append(f, badsOf(m.Version, "", "")...)
	f.blind(m.Blind)
	return f
}

func (f *findings) kernel(m Machine) {
	found := fmt.Sprintf("Linux %s, %s", m.Release, m.Arch)
	if m.Version.Before(oldest) {
		f.advise("kernel", Problem, found, fmt.Sprintf("older than %v, the first that this library works with", oldest), "install a newer kernel")
		return
	}
	var missing []string
	for _, s := range milestones {
		if m.Version.Before(s.since) {
			missing = append(missing, s.what)
		}
	}
	if len(missing) > 0 {
		f.add("kernel", Note, found, "without: "+strings.Join(missing, "; "), "")
		return
	}
	f.ok("kernel", "%s: has all that this library can use", found)
}

// options of the kernel's configuration, worst first.
var options = []struct {
	name  string
	state State // if it is missing
	means string
}{
	{"CONFIG_XDP_SOCKETS", Problem, "no AF_XDP sockets"},
	{"CONFIG_BPF_SYSCALL", Problem, "no XDP programs"},
	{"CONFIG_BPF_JIT", Warning, "XDP programs are interpreted, several times slower"},
	{"CONFIG_NET_NS", Note, "no network namespaces: neither bench nor tests"},
	{"CONFIG_VETH", Note, "no veth pairs: neither bench nor tests"},
	{"CONFIG_NET_RX_BUSY_POLL", Note, "no busy polling"},
	{"CONFIG_HUGETLBFS", Note, "no huge pages"},
	{"CONFIG_XDP_SOCKETS_DIAG", Note, "sockets of others are seen by their queue only, not with their process (ss --xdp shows none)"},
}

func (f *findings) config(m Machine) {
	if m.Config == nil {
		f.add("config", Note, "the kernel's configuration cannot be read", "what it was built with is not known before it is tried", "modprobe configs")
		return
	}
	sound := 0
	for _, o := range options {
		if v := m.Config[o.name]; v == "y" || v == "m" {
			sound++
			continue
		}
		f.advise("config", o.state, o.name+" is off", o.means, "build the kernel with "+o.name+"=y")
	}
	if sound == len(options) {
		f.ok("config", "%d options that matter are on (%s)", sound, m.ConfigFrom)
	}
}

func (f *findings) jit(m Machine) {
	if m.JIT == 0 {
		f.add("BPF compiler", Warning, "net.core.bpf_jit_enable is 0", "XDP programs are interpreted, several times slower", "sysctl -w net.core.bpf_jit_enable=1")
	}
}

// rights that matter, in the order in which they are missed.
var rights = []struct {
	name  string
	state State
	use   string
}{
	{"CAP_NET_RAW", Warning, "AF_XDP sockets cannot be opened"},
	{"CAP_NET_ADMIN", Warning, "XDP programs cannot be attached, neighbours not asked for"},
	{"CAP_BPF", Warning, "XDP programs cannot be loaded"},
	{"CAP_SYS_ADMIN", Note, "no network namespaces (bench, tests), names of programs unknown"},
	{"CAP_SYS_PTRACE", Note, "sockets of other users' processes are not seen"},
}

func (f *findings) capabilities(m Machine) {
	has := func(name string) bool {
		// CAP_SYS_ADMIN stood for CAP_BPF before Linux 5.8, and still does.
		return slices.Contains(m.Capabilities, name) || name == "CAP_BPF" && slices.Contains(m.Capabilities, "CAP_SYS_ADMIN")
	}
	before := len(*f)
	for _, state := range []State{Warning, Note} {
		var names, uses []string
		for _, r := range rights {
			if r.state == state && !has(r.name) {
				names, uses = append(names, r.name), append(uses, r.use)
			}
		}
		if len(names) == 0 {
			continue
		}
		one := Finding{Topic: "rights", State: state, Found: "this process lacks " + strings.Join(names, ", "), Means: strings.Join(uses, "; "), Advice: "run it as root"}
		if state > Note {
			one.Advice += ", or give the program the rights:"
			one.Command = "setcap cap_net_raw,cap_net_admin,cap_bpf+ep PROGRAM"
		}
		*f = append(*f, one)
	}
	if len(*f) == before {
		f.ok("rights", "this process has all that is needed")
	}
}

// areaOfOneQueue is the memory that a udp.Conn locks for each queue: as many chunks
// of 2,048 bytes as two rings of 2,048 entries have.
const areaOfOneQueue = 2 * 2048 * 2048

func (f *findings) memlock(m Machine) {
	const topic = "locked memory"
	limit := bytesText(int64(min(m.Memlock, 1<<62)))
	switch {
	case m.Memlock == Unlimited || slices.Contains(m.Capabilities, "CAP_IPC_LOCK"):
		f.ok(topic, "not limited (CAP_IPC_LOCK or no limit)")
		return
	case m.Memlock < areaOfOneQueue:
		f.add(topic, Warning, "at most "+limit,
			"a queue's area of "+bytesText(areaOfOneQueue)+" is refused (ENOBUFS), which reads as if network buffers were short",
			"ulimit -l unlimited # or: setcap cap_ipc_lock+ep PROGRAM")
	default:
		f.add(topic, OK, "at most "+limit, "enough for the areas of "+plural(int(min(m.Memlock/areaOfOneQueue, 1<<20)), "queue"), "")
	}
	last := &(*f)[len(*f)-1]
	if m.Version.Before(Version{5, 11}) {
		last.Means += "; maps and programs count too on this kernel (before 5.11)"
	} else {
		last.Means += "; maps and programs do not count (since 5.11), areas do"
	}
}

func (f *findings) pages(m Machine) {
	const topic = "pages"
	if m.PageSize > 4096 {
		f.ok(topic, "%s: a chunk can hold a jumbo frame", bytesText(int64(m.PageSize)))
	} else {
		f.ok(topic, "%s, which is the largest chunk", bytesText(int64(m.PageSize)))
	}
	switch {
	case m.HugePageSize == 0 || m.HugePages == 0:
		f.add("huge pages", Note, "none", "areas lie on ordinary pages; huge ones help with areas of many megabytes", "sysctl -w vm.nr_hugepages=16")
	case m.HugeFree == 0:
		f.add("huge pages", Note, fmt.Sprintf("%d of %s, none free", m.HugePages, bytesText(m.HugePageSize)),
			"areas lie on ordinary pages", fmt.Sprintf("sysctl -w vm.nr_hugepages=%d", m.HugePages+16))
	default:
		f.ok("huge pages", "%d of %s, %d free", m.HugePages, bytesText(m.HugePageSize), m.HugeFree)
	}
}

func (f *findings) processors(m Machine) {
	if m.CPUs == 1 {
		f.add("processors", Note, "one", "program and kernel take turns on it: waiting (poll) is better than spinning, and rates are what both can do together", "")
		return
	}
	f.ok("processors", "%d", m.CPUs)
}

// fairBuffer holds as many datagrams of an MTU of 1500 as an RX ring, at what the kernel
// charges a socket for each.
const fairBuffer = 2048 * 2315 / 2

func (f *findings) socketBuffers(m Machine) {
	const topic = "socket buffers"
	switch {
	case m.RmemMax == Unknown:
	case m.RmemMax < fairBuffer:
		f.add(topic, Note, "at most "+bytesText(int64(m.RmemMax))+" to receive",
			"a plain socket queues fewer datagrams than an AF_XDP ring, and loses a comparison for that reason alone, unless the program has CAP_NET_ADMIN (bench does)",
			fmt.Sprintf("sysctl -w net.core.rmem_max=%d", 8<<20))
	default:
		f.ok(topic, "up to %s to receive", bytesText(int64(m.RmemMax)))
	}
}

func (f *findings) owners(m Machine) {
	const topic = "AF_XDP sockets"
	switch {
	case m.XSKs == 0:
		f.ok(topic, "none open in this network namespace")
	case m.XSKs > 0:
		f.add(topic, Note, fmt.Sprintf("%d open in this network namespace", m.XSKs), "held by "+ownersText(m.Owners), "")
	case len(m.Owners) > 0:
		f.add(topic, Note, "open in this network namespace", "held by "+ownersText(m.Owners), "")
	}
}

func (f *findings) blind(what []string) {
	for _, w := range what {
		f.add("not seen", Note, w, "", "")
	}
}
