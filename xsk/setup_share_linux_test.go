// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// orders are all orders of three.
var orders = [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// Case 52: sockets on one queue, another queue and another device share an area,
// each gets its own packets whole, and they close in any order; who is left works
// on, and the memory goes with the last.
func TestSetupShare(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	upper, err := pair.B.AddMacvlan(netip.MustParsePrefix("10.9.0.3/24"))
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			area, err := umem.New(umem.Config{Chunks: 1024})
			if err != nil {
				t.Fatal(err)
			}
			var socks [3]*Socket
			for i, cfg := range []Config{
				{Interface: pair.B.Name, Queue: 0},
				{Interface: pair.B.Name, Queue: 1},
				{Interface: upper.Name},
			} {
				cfg.Area, cfg.RxSize, cfg.TxSize = area, 128, 64
				if socks[i], err = tryIn(pair.B.NS, cfg); err != nil {
					t.Fatal(err)
				}
			}
			sendFromAll(t, pair, socks[:], 50)
			for n, i := range order {
				if err := socks[i].Close(); err != nil {
					t.Error(err)
				}
				checkArea(t, area)
				var left []*Socket
				for _, j := range order[n+1:] {
					left = append(left, socks[j])
				}
				sendFromAll(t, pair, left, 20)
			}
			if s := area.Snapshot(); s.Total != 0 {
				t.Errorf("pools of the sockets are left: %v", s)
			}
			if err := area.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sendFromAll sends n datagrams from each socket, with a pattern of its own, and
// checks that all come whole to the other end.
func sendFromAll(t *testing.T, pair *testnet.Pair, socks []*Socket, n int) {
	t.Helper()
	raw, err := testnet.OpenRaw(pair.A)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	tp := template(t, pair.B, pair.A)
	want := make(map[uint64]bool)
	for i, s := range socks {
		for k := range n {
			seq := uint64(i*1000 + k)
			send(t, s, 8, datagram(&tp, seq, 100))
			want[seq] = true
		}
	}
	for len(want) > 0 {
		seq := checkPayload(t, hears(t, raw))
		if !want[seq] {
			t.Fatalf("datagram %d came twice or was never sent", seq)
		}
		delete(want, seq)
	}
}

// Sockets on the same queue share its rings too: the packets go to the one that
// the queue map names, both send, and either may close first.
func TestSetupShareQueue(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw := openRaw(t, pair.A)
	for _, first := range []int{0, 1} {
		t.Run(fmt.Sprintf("close %d first", first), func(t *testing.T) {
			var socks [2]*Socket
			var err error
			if socks[0], err = tryIn(pair.B.NS, Config{Interface: pair.B.Name, RxFrames: 512, TxFrames: 512, TxSize: 256}); err != nil {
				t.Fatal(err)
			}
			area := socks[0].Area()
			if socks[1], err = tryIn(pair.B.NS, Config{Interface: pair.B.Name, Share: socks[0], RxFrames: 1, TxPool: socks[0].TxPool(), TxSize: 256}); err != nil {
				t.Fatal(err)
			}
			p := redirect(t, pair.B, bpf.Config{}, socks[0])
			delivers(t, raw, pair.A, pair.B, socks[0], 0, 100)
			if err := p.SetQueue(0, socks[1].FD()); err != nil {
				t.Fatal(err)
			}
			delivers(t, raw, pair.A, pair.B, socks[1], 100, 100)
			sendFromAll(t, pair, socks[:], 50)

			last := socks[1-first]
			if err := p.SetQueue(0, last.FD()); err != nil {
				t.Fatal(err)
			}
			// The area was made by the first, which therefore says that it
			// lives on while the other uses it.
			if err := socks[first].Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
				t.Error(err)
			}
			checkArea(t, area)
			delivers(t, raw, pair.A, pair.B, last, 200, 400)
			sendFromAll(t, pair, []*Socket{last}, 50)
			if err := errors.Join(p.Close(), last.Close()); err != nil {
				t.Error(err)
			}
			checkArea(t, area)
		})
	}
}

// What cannot be shared is told, and nothing of the area is lost to it.
func TestSetupShareRefused(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	area, err := umem.New(umem.Config{Chunks: 256})
	if err != nil {
		t.Fatal(err)
	}
	other, err := umem.New(umem.Config{Chunks: 64})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.NewPool(32)
	if err != nil {
		t.Fatal(err)
	}
	small := Config{Interface: pair.B.Name, Area: area, RxSize: 32, TxSize: 32, BusyWait: -1}
	first := openIn(t, pair.B.NS, small)
	gone, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		target error
		words  []string
	}{
		{"queue's rings not shared", func(c *Config) {}, unix.EINVAL, []string{"Share"}},
		{"no such queue", func(c *Config) { c.Queue = 2 }, unix.EINVAL, []string{"2 of 2"}},
		{"zero-copy on an area in copy mode", func(c *Config) { c.Queue, c.Mode = 1, ZeroCopy }, unix.EOPNOTSUPP, []string{"zero-copy", "copy", "share"}},
		{"multi-buffer on an area without", func(c *Config) { c.Queue, c.MultiBuffer = 1, true }, unix.EOPNOTSUPP, []string{"multi-buffer"}},
		{"more frames than there are", func(c *Config) { c.Queue, c.RxFrames = 1, 1024 }, nil, []string{"1024 chunks", "160"}},
		{"pool of another area", func(c *Config) { c.Queue, c.RxPool = 1, foreign }, nil, []string{"RxPool"}},
		{"pool of another area, for sending", func(c *Config) { c.Queue, c.TxPool = 1, foreign }, nil, []string{"TxPool"}},
		{"pool without area", func(c *Config) { c.Queue, c.Area, c.TxPool = 1, nil, foreign }, nil, []string{"TxPool"}},
		{"area and share at odds", func(c *Config) { c.Queue, c.Area, c.Share = 1, other, first }, nil, []string{"Share", "Area"}},
		{"share of a closed socket", func(c *Config) { c.Queue, c.Area, c.Share = 1, nil, gone }, nil, []string{"closed"}},
		{"chunk size of its own", func(c *Config) { c.Queue, c.ChunkSize = 1, 2048 }, nil, []string{"ChunkSize"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 20 {
				if t.Failed() {
					break
				}
				cfg := small
				c.change(&cfg)
				fails(t, pair.B, cfg, c.target, c.words...)
			}
			checkArea(t, area)
			rest, err := area.NewPool(192)
			if err != nil {
				t.Fatalf("chunks are lost: %v", err)
			}
			if err := rest.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := errors.Join(first.Close(), foreign.Close(), area.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	fails(t, pair.B, small, nil, "closed")
}
