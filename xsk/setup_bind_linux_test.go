// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Case 1: two queues from one goroutine work; a queue that is taken is named, and
// who has it keeps it.
func TestSetupQueueTaken(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	var socks [2]*Socket
	for q := range socks {
		socks[q] = openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: q})
	}
	redirect(t, pair.B, bpf.Config{}, socks[:]...)
	raw := openRaw(t, pair.A)
	for q := range socks {
		for _, mode := range []Mode{Best, Copy} {
			start := time.Now()
			fails(t, pair.B, Config{Interface: pair.B.Name, Queue: q, Mode: mode, BusyWait: 30 * time.Millisecond}, unix.EBUSY,
				pair.B.Name, fmt.Sprintf("queue %d", q), "already bound by another AF_XDP socket")
			if took := time.Since(start); took < 30*time.Millisecond || took > 5*time.Second {
				t.Errorf("waited %v for the queue, want 30 ms", took)
			}
		}
		fails(t, pair.B, Config{Interface: pair.B.Name, Queue: q, BusyWait: -1}, ErrQueueBusy)
	}
	delivers(t, raw, pair.A, pair.B, socks[0], 0, 100)
}

// Case 5: what was obtained is read back from the kernel; what cannot be had is
// said, with the driver that has not got it.
func TestSetupModes(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	fails(t, pair.B, Config{Interface: pair.B.Name, Mode: ZeroCopy}, unix.EOPNOTSUPP, pair.B.Name, "driver veth", "zero-copy", "use copy")
	for _, c := range []struct {
		mode     Mode
		attempts []Mode
	}{
		{Best, []Mode{ZeroCopy, Copy}},
		{Copy, []Mode{Copy}},
	} {
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Mode: c.mode})
		if err != nil {
			t.Fatal(err)
		}
		info := s.Info()
		if info.Mode != Copy || info.Driver != "veth" || info.Interface != pair.B.Name || info.Index != pair.B.Index {
			t.Errorf("%v: %+v", c.mode, info)
		}
		if len(info.Attempts) != len(c.attempts) {
			t.Fatalf("%v: attempts %v", c.mode, info.Attempts)
		}
		for i, a := range info.Attempts {
			if last := i == len(c.attempts)-1; a.Mode != c.attempts[i] || (a.Err == nil) != last {
				t.Errorf("%v: attempt %d is %v", c.mode, i, a)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Case 6 and 23: the fallback builds fresh objects, 50 times, on a veth (no
// zero-copy) and on a macvlan over it (no native program either), and each socket
// works.
func TestSetupFallback(t *testing.T) {
	testnet.Leaks(t)
	for _, over := range []string{"veth", "macvlan"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			pair := testnet.TestPair(t, testnet.Config{})
			end, want := pair.B, bpf.Native
			if over == "macvlan" {
				upper, err := pair.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
				if err != nil {
					t.Fatal(err)
				}
				end, want = upper, bpf.Generic
			}
			raw := openRaw(t, pair.A)
			for round := range 50 {
				s, err := tryIn(end.NS, Config{Interface: end.Name, RxFrames: 256, TxFrames: 64})
				if err != nil {
					t.Fatal(err)
				}
				p, err := attach(end, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
				if err != nil {
					t.Fatal(err)
				}
				if got := p.Info().Mode; got != want {
					t.Fatalf("program attached in mode %v, want %v", got, want)
				}
				delivers(t, raw, pair.A, end, s, uint64(round*100), 100)
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if left := programs(t, end); len(left) != 0 {
					t.Fatalf("round %d left %v", round, left)
				}
			}
		})
	}
}

// Case 8: a queue that does not exist is told with the number of those that do,
// once, and after the number was raised the queue opens.
func TestSetupQueueNumber(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	for _, q := range []int{1, 64, maxQueue} {
		for _, mode := range []Mode{Best, Copy} {
			cfg := Config{Interface: pair.B.Name, Queue: q, Mode: mode}
			fails(t, pair.B, cfg, unix.EINVAL, fmt.Sprintf("no such queue: %d of 1", q))
			if _, err := tryIn(pair.B.NS, cfg); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%v: the same thing told twice: %q", mode, err)
			}
		}
	}
	// The kernel would take 65536 for 0.
	for _, q := range []int{-1, maxQueue + 1, 1 << 20, math.MaxInt} {
		fails(t, pair.B, Config{Interface: pair.B.Name, Queue: q}, nil, fmt.Sprintf("Queue %d: must be from 0 to 65535", q))
	}
	if err := pair.B.SetQueues(2); err != nil {
		t.Fatal(err)
	}
	openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: 1})
	fails(t, pair.B, Config{Interface: pair.B.Name, Queue: 2}, unix.EINVAL, "no such queue: 2 of 2")
}

// Case 9: an interface that is missing, down or misnamed.
func TestSetupInterface(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	down := testnet.TestPair(t, testnet.Config{})
	if err := down.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		end    testnet.End
		cfg    Config
		target error
		words  []string
	}{
		{"no such name", pair.B, Config{Interface: "nosuch"}, ErrNoInterface, []string{"nosuch"}},
		{"no such name, as errno", pair.B, Config{Interface: "nosuch"}, unix.ENODEV, nil},
		{"name of the other end", pair.B, Config{Interface: pair.A.Name}, ErrNoInterface, []string{pair.A.Name, "in this network namespace"}},
		{"name of 16 bytes", pair.B, Config{Interface: "abcdefghijklmnop"}, nil, []string{`"abcdefghijklmnop"`, "15"}},
		{"name of 15 bytes", pair.B, Config{Interface: "abcdefghijklmno"}, ErrNoInterface, []string{"abcdefghijklmno"}},
		{"name with a zero", pair.B, Config{Interface: pair.B.Name + "\x00"}, ErrNoInterface, nil},
		{"neither", pair.B, Config{}, nil, []string{"Interface", "Index"}},
		{"negative index", pair.B, Config{Index: -3}, nil, []string{"Index -3"}},
		{"no such index", pair.B, Config{Index: 1 << 30}, ErrNoInterface, []string{"index 1073741824"}},
		{"largest index", pair.B, Config{Index: math.MaxInt}, ErrNoInterface, nil},
		{"another's index", pair.B, Config{Interface: pair.B.Name, Index: 1}, ErrNoInterface, []string{pair.B.Name, fmt.Sprint(pair.B.Index), "not 1"}},
		{"down", down.B, Config{Interface: down.B.Name}, ErrLinkDown, []string{down.B.Name, "ip link set " + down.B.Name + " up"}},
		{"down, as errno", down.B, Config{Index: down.B.Index}, unix.ENETDOWN, nil},
	} {
		t.Run(c.name, func(t *testing.T) { fails(t, c.end, c.cfg, c.target, c.words...) })
	}
	s := openIn(t, pair.B.NS, Config{Index: pair.B.Index})
	if s.Info().Interface != pair.B.Name {
		t.Errorf("opened by index: %+v", s.Info())
	}
	// Up without carrier is up: the peer may come later.
	openIn(t, down.A.NS, Config{Interface: down.A.Name})
}
