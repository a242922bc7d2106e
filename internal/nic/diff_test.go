// SPDX-License-Identifier: MIT

package nic

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestDiff(t *testing.T) {
	base := Link{
		Index: 3, Name: "eth0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, MTU: 1500, Up: true, Carrier: true,
		RxQueues: 2, TxQueues: 2, Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")},
		Programs: []Program{{ID: 7, Mode: ModeNative}},
	}
	down := func(l *Link) { l.Up, l.Carrier = false, false }
	for _, tc := range []struct {
		name   string
		change func(*Link)
		want   []Kind
	}{
		{"nothing", func(*Link) {}, nil},
		{"name", func(l *Link) { l.Name = "eth1" }, []Kind{NameChanged}},
		{"address", func(l *Link) { l.MAC = net.HardwareAddr{2, 0, 0, 0, 0, 2} }, []Kind{MACChanged}},
		{"MTU", func(l *Link) { l.MTU = 1501 }, []Kind{MTUChanged}},
		{"receive queues", func(l *Link) { l.RxQueues = 1 }, []Kind{QueuesChanged}},
		{"transmit queues", func(l *Link) { l.TxQueues = 1 }, []Kind{QueuesChanged}},
		{"possible queues", func(l *Link) { l.MaxRxQueues = 9 }, nil},
		{"addresses", func(l *Link) { l.Addrs = nil }, []Kind{AddrChanged}},
		{"program", func(l *Link) { l.Programs = []Program{{ID: 8, Mode: ModeNative}} }, []Kind{ProgramChanged}},
		{"mode of program", func(l *Link) { l.Programs = []Program{{ID: 7, Mode: ModeGeneric}} }, []Kind{ProgramChanged}},
		{"name of program", func(l *Link) { l.Programs = []Program{{ID: 7, Mode: ModeNative, Name: "x"}} }, nil},
		{"no program", func(l *Link) { l.Programs = nil }, []Kind{ProgramChanged}},
		{"down", down, []Kind{Down}},
		{"carrier lost", func(l *Link) { l.Carrier = false }, []Kind{Down}},
		{"down with new MTU", func(l *Link) { down(l); l.MTU = 9000 }, []Kind{MTUChanged, Down}},
	} {
		after := base
		tc.change(&after)
		if got := diff(base, after); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
	before := base
	down(&before)
	if got := diff(before, base); !slices.Equal(got, []Kind{Up}) {
		t.Errorf("up: got %v", got)
	}
	if got := diff(before, before); got != nil {
		t.Errorf("still down: got %v", got)
	}
}

// A receiver that stays away costs no memory, and is told the latest of each kind
// in the order in which they happened last.
func TestPendingIsBounded(t *testing.T) {
	var p pending
	for i := range 1000 {
		p.add([]Kind{MTUChanged, Down}, Link{MTU: i})
		p.add([]Kind{Up}, Link{MTU: i, Up: true, Carrier: true})
	}
	p.add([]Kind{MTUChanged}, Link{MTU: 1000, Up: true, Carrier: true})
	want := []struct {
		kind Kind
		mtu  int
	}{{Down, 999}, {Up, 999}, {MTUChanged, 1000}}
	if len(p) != len(want) {
		t.Fatalf("got %d events, want %d", len(p), len(want))
	}
	for i, w := range want {
		if p[i].Kind != w.kind || p[i].Link.MTU != w.mtu {
			t.Errorf("event %d: got %v with MTU %d, want %v with %d", i, p[i].Kind, p[i].Link.MTU, w.kind, w.mtu)
		}
	}
}

func TestKindString(t *testing.T) {
	seen := map[string]bool{}
	for k := Down; k <= ProgramChanged; k++ {
		if s := k.String(); s == "" || s == "unknown" || seen[s] {
			t.Errorf("kind %d: %q", k, s)
		}
		seen[k.String()] = true
	}
	for _, k := range []Kind{-1, 0, ProgramChanged + 1} {
		if k.String() != "unknown" {
			t.Errorf("kind %d: %q", k, k)
		}
	}
}
