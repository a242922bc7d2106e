// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

var (
	before = knobs{Interrupts: 7, Timeout: 12345}
	usual  = Deferral{}.withDefaults()
)

// Both ways set what was asked for, tell what was there, and put it back.
func TestDeferNAPI(t *testing.T) {
	for _, way := range setters {
		t.Run(way.name, func(t *testing.T) {
			testnet.Leaks(t)
			_, n := napiPair(t, 3)
			way.apply(n)
			put(t, n, before)
			d := deferred(t, n, Deferral{})
			stands(t, "deferred", n, usual.knobs())
			info := d.Info()
			if want := len(standing(t, n)); len(info) != want {
				t.Errorf("%d settings, want %d", len(info), want)
			}
			for _, s := range info {
				want := Setting{NAPI: s.NAPI, Old: Deferral{Interrupts: 7, Timeout: 12345}, New: usual}
				if diff := cmp.Diff(want, s); diff != "" {
					t.Errorf("want -, got +\n%s", diff)
				}
			}
			checkFiles(t, n, len(info))
			must(t, d.Restore())
			stands(t, "restored", n, before)
			checkFiles(t, n, 0)
			put(t, n, usual.knobs())
			must(t, d.Restore())
			stands(t, "restored twice", n, usual.knobs())
		})
	}
}

// checkFiles: the records are nobody else's to read or write.
func checkFiles(t *testing.T, n *NIC, want int) {
	t.Helper()
	found := files(t, n)
	if len(found) != want {
		t.Errorf("records %q, want %d", found, want)
	}
	for _, name := range append(found, n.records[0]) {
		st, err := os.Stat(name)
		must(t, err)
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
	}
}

// Chosen queues; veth does not tell their NAPIs, so that all are deferred. Other
// values than the usual ones. What one setting of two becomes when somebody else
// changes it: that one stays.
func TestDeferSomeQueues(t *testing.T) {
	_, n := napiPair(t, 3)
	d, err := n.DeferNAPI([]int{2, 0, 2}, Deferral{Interrupts: 50, Timeout: time.Second})
	must(t, err)
	stands(t, "deferred", n, knobs{50, 1e9})
	if info := d.Info(); len(info) != 3 || info[0].Queues != nil || info[0].NAPI >= info[1].NAPI {
		t.Errorf("got %+v", info)
	}
	put(t, n, knobs{50, 77})
	must(t, d.Restore())
	stands(t, "restored", n, knobs{0, 77})
}

// More NAPIs than one message of the kernel's answer holds.
func TestDeferManyNAPIs(t *testing.T) {
	_, n := napiPair(t, 130)
	d := deferred(t, n, Deferral{})
	if len(d.Info()) != 130 {
		t.Errorf("%d settings, want 130", len(d.Info()))
	}
	stands(t, "deferred", n, usual.knobs())
	must(t, d.Restore())
	stands(t, "restored", n, knobs{})
}

// Through sysfs, neither this process's /sys nor another namespace is touched: the
// interfaces have the same name and index.
func TestSysfsOfTheRightNamespace(t *testing.T) {
	testnet.Leaks(t)
	p, twin := testnet.TestPair(t, testnet.Config{}), testnet.TestPair(t, testnet.Config{})
	must(t, twin.B.Rename(p.B.Name))
	a, b := openEnd(t, &twin.B), openEnd(t, &p.B)
	if a.Index() != b.Index() {
		t.Fatalf("indexes %d and %d: not the test that it should be", a.Index(), b.Index())
	}
	setters[1].apply(a)
	setters[1].apply(b)
	b.records = []string{t.TempDir()}
	d := deferred(t, b, Deferral{})
	stands(t, "deferred", b, usual.knobs())
	stands(t, "the other namespace", a, knobs{})
	must(t, p.B.Rename("other"))
	must(t, d.Restore())
	stands(t, "restored", b, knobs{})
}

// What stands in the way is named, with what to do.
func TestDeferRefused(t *testing.T) {
	testnet.Leaks(t)
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	if !n.netdev.commands[netdevCmdNAPISet] {
		t.Skip("this kernel cannot set a NAPI by netlink; Linux 6.13 can")
	}
	n.records = []string{t.TempDir()}
	refused := func(step string, queues []int, target error, words ...string) {
		t.Helper()
		_, err := n.DeferNAPI(queues, Deferral{})
		wantError(t, step, err, target, append(words, p.B.Name)...)
	}
	refused("no program", []int{0}, errNoNAPI, "native mode", "up")
	refused("queue", []int{1}, unix.EINVAL, "queue 1", "no such active")
	refused("negative", []int{-1}, unix.EINVAL, "queue -1")
	must(t, p.B.SetUp(false))
	refused("down", []int{0}, unix.ENETDOWN, "queue 0", "up first")
	must(t, p.B.Delete())
	refused("gone", []int{0}, ErrNoInterface)
	must(t, n.Close())
	refused("closed", nil, net.ErrClosed)
	if err := n.RestoreNAPI(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("restore after close: %v", err)
	}
	if left, err := os.ReadDir(n.records[0]); err != nil || len(left) > 0 && left[0].Name() != lockName || len(left) > 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What goes takes its values with it. An interface that is down is told, since some
// drivers keep the values over it, and the record stays for the next start.
func TestRestoreWhatIsGone(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*testnet.Pair, link.Link) error
		want error
		left int
	}{
		{"program detached", func(_ *testnet.Pair, l link.Link) error { return l.Close() }, nil, 0},
		{"down and up", func(p *testnet.Pair, _ link.Link) error {
			return errors.Join(p.B.SetUp(false), p.B.SetUp(true))
		}, nil, 0},
		{"down", func(p *testnet.Pair, _ link.Link) error { return p.B.SetUp(false) }, unix.ENETDOWN, 1},
		{"interface deleted", func(p *testnet.Pair, _ link.Link) error { return p.B.Delete() }, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			testnet.Leaks(t)
			p := testnet.TestPair(t, testnet.Config{})
			l, _ := attachLink(t, &p.B, link.XDPDriverMode)
			n := openEnd(t, &p.B)
			n.records = []string{t.TempDir()}
			d := deferred(t, n, Deferral{})
			must(t, tc.do(p, l))
			if err := d.Restore(); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if left := files(t, n); len(left) != tc.left {
				t.Errorf("records %q, want %d", left, tc.left)
			}
			must(t, d.Restore())
			if tc.left == 0 {
				return
			}
			must(t, n.RestoreNAPI())
			if len(files(t, n)) != tc.left {
				t.Error("the record is gone though the interface is down")
			}
			must(t, p.B.SetUp(true))
			must(t, n.RestoreNAPI())
			if left := files(t, n); len(left) > 0 {
				t.Errorf("up again: records %q", left)
			}
		})
	}
}

// A handle that was closed too early cannot restore; the next one does.
func TestRestoreAfterClose(t *testing.T) {
	testnet.Leaks(t)
	p, n := napiPair(t, 2)
	d := deferred(t, n, Deferral{})
	must(t, n.Close())
	if err := d.Restore(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	must(t, d.Restore())
	next := openEnd(t, &p.B)
	next.records = n.records
	stands(t, "closed", next, usual.knobs())
	must(t, next.RestoreNAPI())
	stands(t, "restored", next, knobs{})
	checkFiles(t, next, 0)
}

// Many at once in one process: each finds its values while it holds them, and the
// last one leaves what was there before.
func TestDeferConcurrently(t *testing.T) {
	testnet.Leaks(t)
	_, n := napiPair(t, 2)
	put(t, n, before)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				d, err := n.DeferNAPI(nil, Deferral{})
				if err != nil {
					t.Error(err)
					return
				}
				for _, s := range d.Info() {
					if s.Old.knobs() != before {
						t.Errorf("taken for the old values: %v", s)
					}
					if v, err := n.access().get(uint32(s.NAPI)); err != nil || v != usual.knobs() {
						t.Errorf("while held: %v, %v", v, err)
					}
				}
				if err := d.Restore(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stands(t, "at the end", n, before)
	checkFiles(t, n, 0)
}
