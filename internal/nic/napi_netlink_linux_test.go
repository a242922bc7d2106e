// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

var genericHead = []byte{netdevCmdNAPIGet, netdevVersion, 0, 0}

func TestParseNAPI(t *testing.T) {
	u32 := func(typ int, n uint32) *nl.RtAttr { return attr(typ, nl.Uint32Attr(n)) }
	id, index := u32(netdevNAPIID, 8193), u32(netdevNAPIIfindex, 4)
	for _, tc := range []struct {
		name  string
		attrs []*nl.RtAttr
		want  napiState
		bad   bool
	}{
		{"Linux 6.8", []*nl.RtAttr{index, id, u32(netdevNAPIIRQ, 40)}, napiState{id: 8193, index: 4, irq: 40}, false},
		{"short time", []*nl.RtAttr{index, id, u32(netdevNAPIInterrupts, 2), u32(netdevNAPITimeout, 200_000), attr(99, []byte{1})},
			napiState{id: 8193, index: 4, known: true, knobs: knobs{2, 200_000}}, false},
		{"long time", []*nl.RtAttr{index, id, u32(netdevNAPIInterrupts, 1<<31-1), attr(netdevNAPITimeout, nl.Uint64Attr(1<<40))},
			napiState{id: 8193, index: 4, known: true, knobs: knobs{1<<31 - 1, 1 << 40}}, false},
		{"no number", []*nl.RtAttr{index}, napiState{}, true},
		{"negative", []*nl.RtAttr{id, u32(netdevNAPIInterrupts, 1<<31)}, napiState{}, true},
		{"cut", []*nl.RtAttr{id, attr(netdevNAPITimeout, []byte{1, 2})}, napiState{}, true},
	} {
		got, err := parseNAPI(message(genericHead, tc.attrs...))
		if got != tc.want || (err != nil) != tc.bad || tc.bad && !errors.Is(err, unix.EBADMSG) {
			t.Errorf("%s: got %+v, %v", tc.name, got, err)
		}
	}
	if _, err := parseNAPI(genericHead[:3]); !errors.Is(err, unix.EBADMSG) {
		t.Errorf("no header: %v", err)
	}
}

func TestParseQueueNAPI(t *testing.T) {
	told := message(genericHead, attr(netdevQueueID, nl.Uint32Attr(1)), attr(netdevQueueNAPI, nl.Uint32Attr(8193)))
	if id, err := parseQueueNAPI(told); id != 8193 || err != nil {
		t.Errorf("got %d, %v", id, err)
	}
	if id, err := parseQueueNAPI(message(genericHead, attr(netdevQueueID, nl.Uint32Attr(1)))); id != 0 || err != nil {
		t.Errorf("not told: got %d, %v", id, err)
	}
	if _, err := parseQueueNAPI(message(genericHead, attr(netdevQueueNAPI, []byte{1}))); !errors.Is(err, unix.EBADMSG) {
		t.Errorf("cut: %v", err)
	}
}

// A NAPI that serves several queues is set once.
func TestGroup(t *testing.T) {
	got := group([]int{0, 1, 2, 5}, []uint32{9, 8, 9, 7})
	want := []target{{7, []int{5}}, {8, []int{1}}, {9, []int{0, 2}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(target{})); d != "" {
		t.Errorf("want -, got +\n%s", d)
	}
}

func TestEndOfList(t *testing.T) {
	errno := func(n int32) []byte { return nl.Uint32Attr(uint32(n)) }
	for _, b := range [][]byte{nil, {1}, errno(0)} {
		if err := endOfList(b); err != nil {
			t.Errorf("%v: %v", b, err)
		}
	}
	if err := endOfList(append(errno(-int32(unix.ENODEV)), 1, 2)); !errors.Is(err, unix.ENODEV) {
		t.Errorf("got %v", err)
	}
}

// A list is whole where a single answer is expected next, and the other way round.
func TestListThenAsk(t *testing.T) {
	_, n := napiPair(t, 5)
	for range 3 {
		if got := len(standing(t, n)); got != 5 {
			t.Fatalf("%d NAPIs, want 5", got)
		}
		facts(t, n)
	}
	access := n.accessTo(1)
	if _, err := access.get(1 << 30); !errors.Is(err, errNoNAPI) {
		t.Errorf("no such NAPI: %v", err)
	}
	if err := access.set(1<<30, knobs{}); !errors.Is(err, errNoNAPI) {
		t.Errorf("set no such NAPI: %v", err)
	}
	gone := netlinkKnobs{ask: n.ask, family: n.netdev.id, index: 1 << 20}
	for _, queues := range [][]int{nil, {0}} {
		if _, err := gone.targets(queues); !errors.Is(err, ErrNoInterface) {
			t.Errorf("queues %v of no interface: %v", queues, err)
		}
	}
}

// The NAPI of another interface is not taken for one of this.
func TestNAPIOfAnother(t *testing.T) {
	p, n := napiPair(t, 1)
	lo := openEnd(t, &testnet.End{NS: p.B.NS, Name: "lo", Index: 1})
	for id := range standing(t, n) {
		if _, err := lo.accessTo(id).get(id); !errors.Is(err, errNoNAPI) {
			t.Errorf("NAPI %d on lo: %v", id, err)
		}
	}
}

// The namespace has a name, by its cookie and by its inode, that is its own.
func TestNamespaceName(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	a, b := openEnd(t, &p.A), openEnd(t, &p.B)
	for _, ask := range []func(*requester) (string, error){(*requester).namespace, (*requester).namespaceInode} {
		one, err := ask(a.ask)
		must(t, err)
		two, err := ask(b.ask)
		must(t, err)
		if one == two || len(one) < 2 || one[0] != two[0] {
			t.Errorf("got %q and %q", one, two)
		}
	}
}
