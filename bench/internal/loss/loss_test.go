// SPDX-License-Identifier: MIT

package loss

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAttribute(t *testing.T) {
	tests := []struct {
		name   string
		lost   uint64
		counts Counts
		want   Split
	}{
		{"nothing lost", 0, Counts{{Place: Socket, N: 5}}, Split{}},
		{"no counters", 3, nil, Split{Unaccounted: 3}},
		{"counter of zero", 3, Counts{{Place: Socket}}, Split{Unaccounted: 3}},
		{"one place", 5, Counts{{Place: Socket, N: 5}}, Split{Socket: 5}},
		{"counter shows more", 5, Counts{{Place: Socket, N: 9}}, Split{Socket: 5}},
		{"counter shows less", 5, Counts{{Place: Socket, N: 3}}, Split{Socket: 3, Unaccounted: 2}},
		{"two places", 5, Counts{{Place: RXRing, N: 3}, {Place: FillRing, N: 2}}, Split{RXRing: 3, FillRing: 2}},
		{"socket before device", 5, Counts{{Place: DeviceRX, N: 5}, {Place: RXRing, N: 3}}, Split{RXRing: 3, DeviceRX: 2}},
		{"both ends", 7, Counts{{Place: Send, N: 2}, {Place: DeviceTX, N: 1}, {Place: Socket, N: 4}}, Split{Send: 2, DeviceTX: 1, Socket: 4}},
		{"a bundle is many", 40, Counts{{Place: Socket, N: 1, Each: 64}}, Split{Socket: 40}},
		{"a bundle is at most so many", 100, Counts{{Place: Socket, N: 1, Each: 64}}, Split{Socket: 64, Unaccounted: 36}},
		{"single ones before bundles", 40, Counts{{Place: Socket, N: 9, Each: 64}, {Place: DeviceTX, N: 10}}, Split{Socket: 30, DeviceTX: 10}},
		{"bundles at two places", 30, Counts{{Place: Socket, N: 2, Each: 6}, {Place: DeviceTX, N: 2, Each: 11}}, Split{Socket: 11, DeviceTX: 19}},
		{"an unknown place counts", 2, Counts{{Place: "elsewhere", N: 2}}, Split{"elsewhere": 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Attribute(tt.lost, tt.counts)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAttributeLarge has numbers whose product does not fit into 64 bits.
func TestAttributeLarge(t *testing.T) {
	const n = 1 << 50
	got := Attribute(n, Counts{{Place: Socket, N: n / 64, Each: 64}, {Place: DeviceTX, N: n / 64, Each: 64}})
	if want := (Split{Socket: n / 2, DeviceTX: n / 2}); cmp.Diff(want, got) != "" {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAttributeSum holds whatever the counters show: a split explains exactly
// what was lost, no place by more than it counted, and the counters are left as
// they were.
func TestAttributeSum(t *testing.T) {
	places := append(order[:], "elsewhere")
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var counts Counts
		for range rng.IntN(8) {
			counts = append(counts, Count{Place: places[rng.IntN(len(places))], N: rng.Uint64N(1000), Each: rng.Uint64N(3)})
		}
		before := append(Counts(nil), counts...)
		lost := rng.Uint64N(3000)
		split := Attribute(lost, counts)
		if split.Sum() != lost {
			t.Fatalf("split %v of %d lost, counters %v", split, lost, counts)
		}
		for place, n := range split {
			var most uint64
			for _, c := range counts {
				switch {
				case c.Place != place:
				case takesRest(place) && c.N > 0:
					most = lost
				default:
					most += c.N + c.more()
				}
			}
			if n == 0 || place != Unaccounted && n > most {
				t.Fatalf("%d at %s, counters %v", n, place, counts)
			}
		}
		if diff := cmp.Diff(before, counts); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSince(t *testing.T) {
	before := Counts{{Place: Socket, N: 5}, {Place: RXRing, N: 7}}
	after := Counts{{Place: Socket, N: 9, Each: 64}, {Place: RXRing, N: 3}, {Place: Send, N: 2}}
	want := Counts{{Place: Socket, N: 4, Each: 64}, {Place: RXRing, N: 0}, {Place: Send, N: 2}}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Error(diff)
	}
	if after.Get(Socket) != 9 || after.Get(Corrupt) != 0 {
		t.Errorf("get %d and %d", after.Get(Socket), after.Get(Corrupt))
	}
}

func TestMainPlace(t *testing.T) {
	tests := []struct {
		split Split
		want  Place
		ok    bool
	}{
		{nil, "", false},
		{Split{Socket: 1}, Socket, true},
		{Split{Socket: 1, RXRing: 5}, RXRing, true},
		{Split{RXRing: 2, FillRing: 2}, RXRing, true},
		{Split{Socket: 2, Unaccounted: 3}, Unaccounted, true},
	}
	for _, tt := range tests {
		if got, ok := tt.split.Main(); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %q %v, want %q %v", tt.split, got, ok, tt.want, tt.ok)
		}
	}
}

// TestAttributeOccasions has a link that went down: what no counter has is lost there,
// and nothing else is.
func TestAttributeOccasions(t *testing.T) {
	counts := Counts{{Place: LinkDown, N: 1}, {Place: Socket, N: 10}, {Place: DeviceTX, N: 2, Each: 8}}
	for lost, want := range map[uint64]Split{
		0: {}, 9: {Socket: 9}, 12: {Socket: 10, DeviceTX: 2}, 20: {Socket: 10, DeviceTX: 10},
		100: {Socket: 10, DeviceTX: 16, LinkDown: 74},
	} {
		if diff := cmp.Diff(want, Attribute(lost, counts)); diff != "" {
			t.Errorf("%d lost: %s", lost, diff)
		}
	}
	counts[0].N = 0
	if diff := cmp.Diff(Split{Socket: 10, DeviceTX: 16, Unaccounted: 74}, Attribute(100, counts)); diff != "" {
		t.Errorf("the link was up: %s", diff)
	}
}

func TestPlus(t *testing.T) {
	a := Counts{{Place: Socket, N: 1}, {Place: Send, N: 2}}
	got := a.Plus(Counts{{Place: Socket, N: 10}, {Place: RXRing, N: 5}})
	if got.Get(Socket) != 11 || got.Get(Send) != 2 || got.Get(RXRing) != 5 || len(got) != 3 || a.Get(Socket) != 1 {
		t.Errorf("%+v of %+v", got, a)
	}
}
