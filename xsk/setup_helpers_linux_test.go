// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// refused checks an error that a user will read: it is target, says who speaks,
// once, and contains the words.
func refused(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want %v with %q", target, words)
		return
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("%q is not %q", err, target)
	}
	if !strings.HasPrefix(err.Error(), "xsk: ") {
		t.Errorf("%q does not say who speaks", err)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if strings.Count(line, "xsk: ") > 1 {
			t.Errorf("%q says who speaks more than once", line)
		}
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}

// fails opens a socket that must be refused.
func fails(t testing.TB, end testnet.End, cfg Config, target error, words ...string) {
	t.Helper()
	s, err := tryIn(end.NS, cfg)
	if err == nil {
		s.Close()
	}
	refused(t, err, target, words...)
}

// delivers sends n datagrams numbered from seq on to end and checks that s gets
// them all, in order.
func delivers(t testing.TB, raw *testnet.Raw, from, to testnet.End, s *Socket, seq uint64, n int) {
	t.Helper()
	tp := template(t, from, to)
	for i := range n {
		if err := raw.Send(datagram(&tp, seq+uint64(i), 64)); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range collect(t, s, n) {
		if got != seq+uint64(i) {
			t.Fatalf("datagram %d is number %d, want %d", i, got, seq+uint64(i))
		}
	}
}

// openRaw is a packet socket on an end, closed after the test.
func openRaw(t testing.TB, end testnet.End) *testnet.Raw {
	t.Helper()
	raw, err := testnet.OpenRaw(end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

// hears returns the next UDP frame that a packet socket receives; the kernels'
// own packets, ARP say, are passed over.
func hears(t testing.TB, raw *testnet.Raw) []byte {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		b, err := raw.Receive(end)
		if err != nil {
			t.Fatal(err)
		}
		if _, reason := packet.Parse(b); reason == 0 {
			return b
		}
	}
}

// programs lists the XDP programs on an interface.
func programs(t testing.TB, end testnet.End) []nic.Program {
	t.Helper()
	var l nic.Link
	err := end.NS.Do(func() error {
		n, err := nic.OpenIndex(end.Index)
		if err != nil {
			return err
		}
		l, err = n.Link()
		return errors.Join(err, n.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.Programs
}

// anyPort is the filter of the tests' port at any address.
var anyPort = bpf.Filter{Addr: netip.AddrPortFrom(netip.Addr{}, port)}

// attach is redirect without a test's cleanup, for those who close in an order of
// their own.
func attach(end testnet.End, cfg bpf.Config, f bpf.Filter, queues map[int]int) (p *bpf.Program, err error) {
	cfg.Ifindex = end.Index
	err = end.NS.Do(func() error {
		p, err = bpf.Attach(cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = p.Allow(f)
	for q, fd := range queues {
		err = errors.Join(err, p.SetQueue(q, fd))
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// keepOnly drops all capabilities of the calling thread but these. NS.Do throws
// the thread away afterwards.
func keepOnly(capabilities ...int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range capabilities {
		data[c/32].Effective |= 1 << (c % 32)
		data[c/32].Permitted |= 1 << (c % 32)
	}
	return unix.Capset(&header, &data[0])
}
