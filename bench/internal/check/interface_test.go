// SPDX-License-Identifier: MIT

package check

import (
	"strings"
	"testing"
)

// An interface that has everything gives no cause for a word.
func TestFineInterface(t *testing.T) {
	all := examineInterface(sound(), fine())
	if findings(all).worst() != OK {
		t.Errorf("not all is well:\n%s", write(all))
	}
	expect(t, all, "mode", OK, "zero-copy")
	expect(t, all, "RX hints", OK, "hash, timestamp")
	expect(t, all, "TX metadata", OK, "checksum")
	expect(t, all, "interrupts", OK, "40 on 2")
}

// Each finding, by the fact that provokes it.
func TestInterfaceFindings(t *testing.T) {
	kernel := func(a, b int) func(*Machine, *Interface) {
		return func(m *Machine, i *Interface) { m.Version, i.Features = Version{a, b}, Features{} }
	}
	mtu := func(n int, f Features) func(*Machine, *Interface) {
		return func(_ *Machine, i *Interface) { i.MTU, i.Features = n, f }
	}
	native := Features{Known: true, Basic: true, Redirect: true}
	offload := func(name string, fixed bool) func(*Machine, *Interface) {
		return func(_ *Machine, i *Interface) { i.Offloads[name] = Offload{On: true, Fixed: fixed} }
	}
	driver := func(name string) func(*Machine, *Interface) {
		return func(_ *Machine, i *Interface) { i.Driver = name }
	}
	program := func(p Program) func(*Machine, *Interface) {
		return func(_ *Machine, i *Interface) { i.Programs = []Program{p} }
	}
	for _, tc := range []struct {
		name  string
		spoil func(*Machine, *Interface)
		topic string
		state State
		words []string
	}{
		{"down", func(_ *Machine, i *Interface) { i.Up, i.Carrier = false, false }, "link", Problem, []string{"ip link set eth0 up"}},
		{"no carrier", func(_ *Machine, i *Interface) { i.Carrier = false }, "link", Warning, []string{"without carrier"}},
		{"firmware", func(_ *Machine, i *Interface) { i.Release, i.Firmware = "1.2", "7" }, "link", OK, []string{"igc 1.2, firmware 7, up"}},
		{"native by the table", kernel(5, 13), "mode", OK, []string{"native", "5.13", "zero-copy came with Linux 5.14"}},
		{"zero-copy by the table", kernel(5, 15), "mode", OK, []string{"zero-copy to be expected", "since Linux 5.14", "docs.ebpf.io"}},
		{"generic by the table", kernel(5, 10), "mode", Note, []string{"generic", "no XDP of its own"}},
		{"not in the table", func(m *Machine, i *Interface) { kernel(5, 10)(m, i); i.Driver = "xyz" }, "mode", Note, []string{"unknown", "examples/hello -i eth0"}},
		{"no driver at all", func(m *Machine, i *Interface) { kernel(5, 10)(m, i); i.Driver = "" }, "mode", Note, []string{"this interface"}},
		{"loopback on an old kernel", func(m *Machine, i *Interface) { kernel(5, 10)(m, i); i.Driver, i.Loopback = "", true }, "mode", Note, []string{"loopback"}},
		{"generic by the kernel", func(_ *Machine, i *Interface) { i.Features, i.Driver = Features{Known: true}, "macb" }, "mode", Note, []string{"copied after"}},
		{"merged by the host", func(m *Machine, i *Interface) { i.Driver = "virtio_net"; offload("rx-gro-hw", true)(m, i) }, "mode", Note, []string{"generic", "hardware GRO"}},
		{"merging that can be switched off", func(m *Machine, i *Interface) { i.Driver = "virtio_net"; offload("rx-gro-hw", false)(m, i) }, "mode", OK, []string{"zero-copy"}},
		{"not offered", func(_ *Machine, i *Interface) { i.Features = native }, "mode", OK, []string{"does not offer it"}},
		{"never offered", func(_ *Machine, i *Interface) { i.Features, i.Driver = native, "veth" }, "mode", OK, []string{"no kernel's veth has zero-copy"}},
		{"a VLAN", func(_ *Machine, i *Interface) { i.Kind, i.Lower = "vlan", "eth9" }, "stacked", Warning, []string{"use eth9", "bench check eth9"}},
		{"a bond", func(_ *Machine, i *Interface) { i.Kind = "bond" }, "stacked", Warning, []string{"a bond interface"}},
		{"loopback", func(_ *Machine, i *Interface) { i.Loopback = true }, "stacked", Warning, []string{"loopback"}},
		{"program of others", program(Program{7, "native", "drop", 0}), "XDP program", Problem, []string{"program 7 (drop)", "ip link set dev eth0 xdpdrv off"}},
		{"generic program", program(Program{7, "generic", "", 0}), "XDP program", Problem, []string{"name unknown", "xdpgeneric off"}},
		{"program on a link", program(Program{7, "native", "drop", 3}), "XDP program", Problem, []string{"bpftool link detach id 3"}},
		{"our own program", program(Program{7, "native", "xdpath", 3}), "XDP program", Note, []string{"an endpoint of this library"}},
		{"sockets not told", func(_ *Machine, i *Interface) { i.BoundKnown = false }, "bound queues", Note, []string{"6.15"}},
		{"some queue busy", func(_ *Machine, i *Interface) { i.RxQueues, i.Bound = 4, []int{0, 2} }, "bound queues", Warning, []string{"queue 0, 2 of 4"}},
		{"every queue busy", func(_ *Machine, i *Interface) {
			i.Bound, i.Sockets = []int{0}, []Socket{{Owners: []Owner{{9, "sink"}}}, {Owners: []Owner{{9, "sink"}}}}
		}, "bound queues", Problem, []string{"every queue", "held by sink (pid 9)"}},
		{"busy by one of these", func(m *Machine, i *Interface) { m.Owners, i.Bound = []Owner{{9, "sink"}}, []int{0} }, "bound queues", Problem, []string{"processes that have", "sink (pid 9)"}},
		{"several queues", func(_ *Machine, i *Interface) { i.RxQueues, i.MaxRxQueues = 2, 8 }, "queues", Note, []string{"of 8, 1 possible", "ethtool -L eth0 combined 1"}},
		{"steering", func(m *Machine, i *Interface) { offload("rx-ntuple-filter", false)(m, i); i.RxQueues = 2 }, "queues", Note, []string{"ethtool -N eth0"}},
		{"queues of a veth", func(_ *Machine, i *Interface) { i.RxQueues, i.Driver = 2, "veth" }, "queues", Note, []string{"ethtool -L eth0 rx 1 tx 1"}},
		{"more queues than processors", func(_ *Machine, i *Interface) { i.RxQueues = 8 }, "queues", Note, []string{"4 processors"}},
		{"queues not told", func(_ *Machine, i *Interface) { i.RxQueues = 0 }, "queues", Note, []string{"tells no number"}},
		{"short ring", func(_ *Machine, i *Interface) { i.Ring.MaxRx = 4096 }, "device rings", Note, []string{"ethtool -G eth0 rx 4096"}},
		{"rings not told", func(_ *Machine, i *Interface) { i.Ring = nil }, "device rings", OK, []string{"igc does not tell"}},
		{"MTU of a page", mtu(3000, native), "MTU", OK, []string{"chunk of 4096"}},
		{"MTU in several chunks", mtu(9000, Features{Known: true, Basic: true, Redirect: true, RxSG: true}), "MTU", Note, []string{"MultiBuffer"}},
		{"MTU over the driver's", mtu(9000, native), "MTU", Warning, []string{"no packets of several buffers", "mtu 1500"}},
		{"MTU over zero-copy's", mtu(9000, Features{Known: true, RxSG: true, ZeroCopy: true, ZCMaxSegs: 1}), "MTU", Warning, []string{"zero-copy mode"}},
		{"MTU over an old kernel's", func(m *Machine, i *Interface) { m.Version, i.MTU = Version{5, 10}, 9000 }, "MTU", Warning, []string{"came with Linux 6.6"}},
		{"MTU over its programs'", func(m *Machine, i *Interface) { m.Version, i.MTU = Version{5, 10}, 9000 }, "MTU", Warning, []string{"came with Linux 5.18"}},
		{"tags taken off", offload("rx-vlan-hw-parse", false), "offloads", Note, []string{"ethtool -K eth0 rxvlan off"}},
		{"LRO", offload("rx-lro", false), "offloads", Warning, []string{"ethtool -K eth0 lro off"}},
		{"hardware GRO", offload("rx-gro-hw", true), "offloads", Warning, []string{"cannot be switched off"}},
		{"checksums left out", func(m *Machine, i *Interface) { offload("tx-checksum-ip-generic", false)(m, i); i.Driver = "veth" }, "offloads", Note, []string{"ethtool -K eth0 tx off"}},
		{"checksums by a device", offload("tx-checksum-ip-generic", false), "offloads", OK, nil},
		{"offloads not told", func(_ *Machine, i *Interface) { i.Offloads = nil }, "offloads", Note, []string{"does not tell"}},
		{"deferred", func(_ *Machine, i *Interface) { i.NAPIs = []NAPI{{8193, 2, 50_000}, {ID: 8194}} }, "coalescing", Note, []string{"poller 8193 waits 50µs, 2 times"}},
		{"coalescing", func(_ *Machine, i *Interface) { i.Coalesce = &Coalesce{RxUsecs: 30, RxFrames: 16} }, "coalescing", Note, []string{"30 µs or 16 frames", "rx-usecs 0"}},
		{"adapting", func(_ *Machine, i *Interface) { i.Coalesce = &Coalesce{AdaptiveRx: true} }, "coalescing", Note, []string{"adaptive-rx off"}},
		{"coalescing not told", func(_ *Machine, i *Interface) { i.Coalesce = nil }, "coalescing", OK, []string{"does not tell"}},
		{"no interrupts", func(_ *Machine, i *Interface) { i.IRQs = nil }, "interrupts", OK, []string{"sender's processor"}},
		{"free interrupts", func(_ *Machine, i *Interface) { i.IRQs[0].CPUs = "0-3" }, "interrupts", Note, []string{"/proc/irq/40/smp_affinity_list", "irqbalance"}},
		{"interrupts in one place", func(_ *Machine, i *Interface) { i.IRQs = []IRQ{{1, "a", "0"}, {2, "b", "0"}, {3, "c", "0"}} }, "interrupts", Note, []string{"one processor serves all"}},
		{"interrupts unseen", func(_ *Machine, i *Interface) { i.IRQs[0].CPUs = "" }, "interrupts", OK, []string{"40 on ?"}},
		{"one processor", func(m *Machine, i *Interface) { m.Online, i.IRQs[0].CPUs = 1, "0" }, "interrupts", OK, []string{"40 on 0"}},
		{"hints not told", kernel(5, 15), "RX hints", Note, []string{"6.3"}},
		{"no hints", func(_ *Machine, i *Interface) { i.Features = native }, "RX hints", OK, []string{"none"}},
		{"blind", func(_ *Machine, i *Interface) { i.Blind = []string{"the moon"} }, "not seen", Note, []string{"the moon"}},
		{"ice", driver("ice"), "known bad", Warning, []string{"corrupt", "firedancer"}},
		{"stmmac", driver("st_gmac"), "known bad", Warning, []string{"fill ring", "analogdevicesinc"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, i := sound(), fine()
			tc.spoil(&m, &i)
			expect(t, examineInterface(m, i), tc.topic, tc.state, tc.words...)
		})
	}
}

// Every entry of the table of defects is told in its kernels and in no others, with
// its source; the table of drivers is in order and has a source for each line.
func TestTables(t *testing.T) {
	for _, b := range bads {
		in, past := b.from, b.until
		if found := badsOf(in, b.driver, b.only); !strings.Contains(write(found), b.source[:20]) {
			t.Errorf("%s: not told of Linux %v:\n%s", b.what, in, write(found))
		}
		others := badsOf(Version{b.from[0], b.from[1] - 1, 99}, b.driver, b.only)
		if past != never {
			others = append(others, badsOf(past, b.driver, b.only)...)
		}
		for _, f := range others {
			if strings.HasPrefix(f.Found, b.what) {
				t.Errorf("%s: told outside of its kernels", b.what)
			}
		}
		if b.source == "" || b.mend == "" || b.state < Note || b.state > Warning {
			t.Errorf("%s: %+v", b.what, b)
		}
	}
	last := ""
	for _, d := range drivers {
		if d.source == "" || d.names[0] <= last || d.zeroCopy != never && (d.native == never || d.zeroCopy.Before(d.native)) {
			t.Errorf("%v after %s: %+v", d.names, last, d)
		}
		last = d.names[0]
	}
}
