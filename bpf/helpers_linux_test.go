// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
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
	meta, metaFrags   *ebpf.Program // bound to no device: a kernel runs no others on test frames
}

// loadBench loads all programs onto one set of tables.
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
	b.old = loadAs(t, &l.maps, plainObject(), oldName, 0)
	b.meta = loadAs(t, &l.maps, metaObject(), metaName, 0)
	if b.frags != nil {
		b.metaFrags = loadAs(t, &l.maps, metaObject(), metaName, unix.BPF_F_XDP_HAS_FRAGS)
	}
	s := newStamp()
	b.stamp.Store(uint64(s))
	if err := errors.Join(b.SetMAC(target.MAC[:]), l.maps.setStamp(s)); err != nil {
		t.Fatal(err)
	}
	return b
}

// loadAs loads one program, whose calls into a driver all say "not supported".
func loadAs(t testing.TB, m *maps, o object, name string, flags uint32) *ebpf.Program {
	t.Helper()
	spec, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Programs[name]
	s.Flags |= flags
	calls{}.link(s.Instructions)
	if err := m.bind(s); err != nil {
		t.Fatal(err)
	}
	p, err := ebpf.NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
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
