// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// keepOnly drops all capabilities of the calling thread but these. NS.Do throws the
// thread away afterwards.
func keepOnly(capabilities ...int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range capabilities {
		data[c/32].Effective |= 1 << (c % 32)
		data[c/32].Permitted |= 1 << (c % 32)
	}
	return unix.Capset(&header, &data[0])
}

// Case 12: each missing capability is named, with the step that lacks it.
func TestMissingCapabilities(t *testing.T) {
	testnet.Leaks(t)
	for _, c := range []struct {
		name   string
		have   []int
		words  []string
		absent []string
	}{
		{"none", nil, []string{"CAP_BPF", "CAP_NET_ADMIN"}, nil},
		{"no CAP_NET_ADMIN", []int{unix.CAP_BPF}, []string{"CAP_NET_ADMIN"}, []string{"CAP_BPF"}},
		{"no CAP_BPF", []int{unix.CAP_NET_ADMIN}, []string{"CAP_BPF"}, []string{"CAP_NET_ADMIN"}},
	} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			if err := keepOnly(c.have...); err != nil {
				return err
			}
			_, err := Attach(Config{Interface: pair.B.Name})
			checkRefusal(t, err, unix.EPERM, c.words...)
			for _, word := range c.absent {
				if err != nil && strings.Contains(err.Error(), word) {
					t.Errorf("%s: %q names %s, which is there", c.name, err, word)
				}
			}
			if err != nil && strings.Contains(err.Error(), "RemoveMemlock") {
				t.Errorf("%s: %q advises what we do not do", c.name, err)
			}
			t.Log(err)
			return nothingOn(&pair.B)
		})
	}
}

// Case 11: CAP_BPF and CAP_NET_ADMIN are enough, by link and by netlink, and no
// resource limit is touched.
func TestEnoughCapabilities(t *testing.T) {
	testnet.Leaks(t)
	for _, useLink := range []bool{true, false} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			before := limits(t)
			if err := keepOnly(unix.CAP_BPF, unix.CAP_NET_ADMIN); err != nil {
				return err
			}
			p, err := openIn(Config{Interface: pair.B.Name}, useLink)
			if err != nil {
				return err
			}
			if on, err := p.Attached(); !on || err != nil {
				t.Errorf("attached: %v, %v", on, err)
			}
			_, err = Attach(Config{Interface: pair.B.Name})
			checkRefusal(t, err, ErrForeignProgram, "ip link set dev "+pair.B.Name+" xdpdrv off", "bpftool link detach")
			if err := p.Close(); err != nil {
				return err
			}
			if after := limits(t); after != before {
				t.Errorf("limits changed from %v to %v", before, after)
			}
			return nothingOn(&pair.B)
		})
	}
}

func limits(t *testing.T) (list [16]unix.Rlimit) {
	t.Helper()
	for i := range list {
		if err := unix.Getrlimit(i, &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// A worker without any capability does all but attach, on descriptors that a
// broker handed over.
func TestAdoptWithoutCapabilities(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		broker, err := Attach(Config{Interface: pair.B.Name, Queues: 5, Metadata: MetadataAuto})
		if err != nil {
			return err
		}
		defer func() { _ = broker.Close() }()
		fds, err := broker.FDs()
		if err != nil {
			return err
		}
		socket := xdpSocket(t) // what a broker would hand over too
		for _, fd := range []*int{&fds.Link, &fds.Queues, &fds.Filters, &fds.MAC, &fds.Counters} {
			if *fd, err = unix.Dup(*fd); err != nil { // as a UNIX socket does
				return err
			}
		}
		if err := keepOnly(); err != nil {
			return err
		}
		worker, err := Adopt(fds)
		if err != nil {
			return err
		}
		at := netip.AddrPortFrom(pair.B.IP4, 5000)
		err = errors.Join(worker.Allow(Filter{Addr: at}), worker.SetQueue(4, socket), worker.SetMAC(pair.B.MAC),
			worker.ClearQueue(4), worker.Deny(Filter{Addr: at}))
		if err != nil {
			return err
		}
		if _, err := worker.Counters(); err != nil {
			return err
		}
		if on, err := worker.Attached(); !on || err != nil {
			t.Errorf("attached: %v, %v", on, err)
		}
		mine, theirs := worker.Info(), broker.Info()
		if mine.ProgramID != theirs.ProgramID || mine.LinkID != theirs.LinkID || worker.stamp.Load() != broker.stamp.Load() || worker.stamp.Load() == 0 || mine.Queues != 5 || mine.Ifindex != pair.B.Index {
			t.Errorf("worker %+v, broker %+v", mine, theirs)
		}
		if err := worker.Close(); err != nil {
			return err
		}
		if on, err := broker.Attached(); on || err != nil {
			t.Errorf("after the worker's Close: %v, %v", on, err)
		}
		return nil
	})
}

// Descriptors of the wrong kind are named, and closed all the same.
func TestAdoptRefuses(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name})
		if err != nil {
			return err
		}
		defer func() { _ = p.Close() }()
		fds, err := p.FDs()
		if err != nil {
			return err
		}
		for name, spoil := range map[string]func(f *FDs){
			"Link":    func(f *FDs) { f.Link = fds.Queues },
			"Queues":  func(f *FDs) { f.Queues = fds.Filters },
			"Filters": func(f *FDs) { f.Filters = fds.Link },
		} {
			wrong := fds
			spoil(&wrong)
			for _, fd := range []*int{&wrong.Link, &wrong.Queues, &wrong.Filters, &wrong.MAC, &wrong.Counters} {
				if *fd, err = unix.Dup(*fd); err != nil {
					return err
				}
			}
			if _, err := Adopt(wrong); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if on, err := p.Attached(); !on || err != nil {
			return fmt.Errorf("attached: %v, %w", on, err)
		}
		return nil
	})
}
