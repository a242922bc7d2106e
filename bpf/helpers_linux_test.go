// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/bpf/internal/model"
	"github.com/xdpath/xdpath/internal/testnet"
)

// target is the endpoint that the tests open; the addresses are those of end B of
// a test pair.
var target = frames.Target{
	MAC:    [6]byte{0x02, 0, 0, 0, 0, 0xbb},
	IP4:    netip.MustParseAddr("10.9.0.2"),
	IP6:    netip.MustParseAddr("fd09::2"),
	Group4: netip.MustParseAddr("239.129.2.3"),
	Group6: netip.MustParseAddr("ff02::1:3"),
	Port:   5000,
	VLAN:   7,
}

// filters are what the decision tests allow: the target in all its forms, and
// "any address" on one port of each family.
func filters() []Filter {
	at := netip.AddrPortFrom
	return []Filter{
		{Addr: at(target.IP4, target.Port)},
		{Addr: at(target.IP4, target.Port), VLAN: target.VLAN},
		{Addr: at(target.IP6, target.Port)},
		{Addr: at(target.IP6, target.Port), VLAN: target.VLAN},
		{Addr: at(target.Group4, target.Port)},
		{Addr: at(target.Group6, target.Port), VLAN: target.VLAN},
		{Addr: at(netip.IPv4Unspecified(), target.Port+1)},
		{Addr: at(netip.IPv6Unspecified(), target.Port+1), VLAN: target.VLAN},
		{Addr: at(netip.Addr{}, target.Port<<8|target.Port>>8)},
	}
}

// modelOf is the model with the same tables.
func modelOf(list []Filter, queues ...int) *model.Model {
	m := &model.Model{MAC: target.MAC, Filters: map[model.Filter]bool{}, Sockets: map[int]bool{}}
	for _, f := range list {
		addr, port := f.Addr.Addr(), f.Addr.Port()
		if addr.IsValid() {
			m.Filters[model.Filter{Addr: addr, Port: port, VLAN: f.VLAN}] = true
			continue
		}
		m.Filters[model.Filter{Addr: netip.IPv4Unspecified(), Port: port, VLAN: f.VLAN}] = true
		m.Filters[model.Filter{Addr: netip.IPv6Unspecified(), Port: port, VLAN: f.VLAN}] = true
	}
	for _, q := range queues {
		m.Sockets[q] = true
	}
	return m
}

// unattached is the tie of a program that is only run by BPF_PROG_TEST_RUN.
type unattached struct{}

func (unattached) attached() (bool, error) { return false, nil }
func (unattached) close() error            { return nil }
func (unattached) linkFD() int             { return -1 }

// bench is the loaded program with tables, on no interface.
type bench struct {
	*Program
	plain, frags *ebpf.Program
}

func loadBench(t testing.TB) *bench {
	t.Helper()
	l, err := load(Config{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if l.frags == nil {
		t.Logf("no program with frags here: %v", l.attempts)
	}
	b := &bench{&Program{maps: l.maps, tie: unattached{}, info: Info{Queues: 64}}, l.plain, l.frags}
	t.Cleanup(func() {
		l.closePrograms()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.SetMAC(target.MAC[:]); err != nil {
		t.Fatal(err)
	}
	return b
}

// xdpSocket is an AF_XDP socket that can stand in the queue map. It has no rings:
// enough for a verdict.
func xdpSocket(t testing.TB) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// xdpContext is struct xdp_md as the kernel takes it for a test run.
type xdpContext struct {
	Data, End, Meta, Ingress, Queue, Egress uint32
}

// queueContext makes the run believe that the frame came in on a queue of a device.
func queueContext(size, ifindex, queue int) xdpContext {
	return xdpContext{End: uint32(size), Ingress: uint32(ifindex), Queue: uint32(queue)}
}

// pairIn runs f inside the namespace of end B of a new pair.
func pairIn(t *testing.T, cfg testnet.Config, f func(pair *testnet.Pair) error) {
	t.Helper()
	pair := testnet.TestPair(t, cfg)
	if err := pair.B.NS.Do(func() error { return f(pair) }); err != nil {
		t.Fatal(err)
	}
}

// reasonCounts gives the counters by reason.
func reasonCounts(c Counters) (list [model.Reasons]uint64) {
	raw, err := binary.Append(nil, binary.NativeEndian, c)
	if err != nil {
		panic(err) // Counters is a struct of fixed size
	}
	for i := range list {
		list[i] = binary.NativeEndian.Uint64(raw[8*i:])
	}
	return list
}
