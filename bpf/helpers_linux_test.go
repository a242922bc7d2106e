// SPDX-License-Identifier: MIT

package bpf

import (
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// unattached is the tie of a program that is only run by BPF_PROG_TEST_RUN.
type unattached struct{}

func (unattached) attached() (bool, error) { return false, nil }
func (unattached) close() error            { return nil }
func (unattached) linkFD() int             { return -1 }

// bench is the loaded program with tables, on no interface.
type bench struct {
	*Program
	plain, frags, old *ebpf.Program
}

// loadBench loads all three programs onto one set of tables.
func loadBench(t testing.TB) *bench {
	t.Helper()
	l, err := load(Config{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if l.frags == nil {
		t.Logf("no program with frags here: %v", l.attempts)
	}
	b := &bench{Program: &Program{maps: l.maps, tie: unattached{}, info: Info{Queues: 64}}, plain: l.plain, frags: l.frags}
	t.Cleanup(func() {
		l.closePrograms()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.old = loadOld(t, &l.maps, 0)
	if err := b.SetMAC(target.MAC[:]); err != nil {
		t.Fatal(err)
	}
	return b
}

// loadOld loads the program for old kernels.
func loadOld(t testing.TB, m *maps, flags uint32) *ebpf.Program {
	t.Helper()
	spec, err := openObject()
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Programs[oldName]
	s.Flags |= flags
	for name, one := range map[string]*ebpf.Map{"filters": m.filters, "own_mac": m.ownMAC, "queues": m.queues, "counters": m.counters} {
		if err := s.Instructions.AssociateMap(name, one); err != nil {
			t.Fatal(err)
		}
	}
	old, err := ebpf.NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close() })
	return old
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

func mustPrefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
