// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestDeferralConfig(t *testing.T) {
	if d := (Deferral{}).withDefaults(); d != (Deferral{Interrupts: 2, Timeout: 50 * time.Microsecond}) || d.validate() != nil {
		t.Errorf("defaults %v: %v", d, d.validate())
	}
	if d := (Deferral{Interrupts: 1, Timeout: 1}).withDefaults(); d != (Deferral{Interrupts: 1, Timeout: 1}) || d.validate() != nil {
		t.Errorf("smallest %v: %v", d, d.validate())
	}
	err := Deferral{Interrupts: -1, Timeout: time.Second + 1}.validate()
	for _, word := range []string{"Interrupts -1", "Timeout 1.000000001s", "1 to 2147483647", "1ns to 1s"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %q", err, word)
		}
	}
	if err := (Deferral{Interrupts: 1, Timeout: -1}).validate(); err == nil {
		t.Error("a negative time is taken")
	}
}

func TestSettingText(t *testing.T) {
	s := Setting{NAPI: 8193, Queues: []int{0, 2}, New: Deferral{}.withDefaults()}
	if got, want := s.String(), "NAPI 8193 (queues [0 2]): 2 interrupts, 50µs, before 0 interrupts, 0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Setting{}).String(), "interface: 0 interrupts, 0s, before 0 interrupts, 0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	odd := knobs{Interrupts: math.MaxUint32, Timeout: math.MaxUint64}.deferral()
	if odd != (Deferral{Interrupts: math.MaxInt32, Timeout: math.MaxInt64}) {
		t.Errorf("got %v", odd)
	}
}

// Each value is put back only where it is still the one that was set.
func TestBack(t *testing.T) {
	r := record{Old: knobs{1, 10}, New: knobs{2, 20}}
	for now, want := range map[knobs]knobs{
		{2, 20}: {1, 10}, {3, 20}: {3, 10}, {2, 30}: {1, 30}, {3, 30}: {3, 30}, {1, 10}: {1, 10},
	} {
		if got := r.back(now); got != want {
			t.Errorf("%v: got %v, want %v", now, got, want)
		}
	}
}

func TestSameInterface(t *testing.T) {
	a := identity{Boot: "b", Namespace: "c1", Index: 2, Name: "n", MAC: "m", PID: 1, Start: 1}
	for _, tc := range []struct {
		name   string
		change func(*identity)
		want   bool
	}{
		{"asked by another", func(b *identity) { b.PID, b.Start = 2, 2 }, true},
		{"renamed", func(b *identity) { b.Name = "x" }, true},
		{"other MAC", func(b *identity) { b.MAC = "x" }, true},
		{"another one", func(b *identity) { b.Name, b.MAC = "x", "x" }, false},
		{"boot", func(b *identity) { b.Boot = "x" }, false},
		{"namespace", func(b *identity) { b.Namespace = "x" }, false},
		{"index", func(b *identity) { b.Index = 3 }, false},
	} {
		b := a
		tc.change(&b)
		if a.sameInterface(b) != tc.want || b.sameInterface(a) != tc.want {
			t.Errorf("%s: want %t", tc.name, tc.want)
		}
	}
	none := identity{Boot: "b", Namespace: "c1", Index: 2, Name: "n"}
	if x := none; x.sameInterface(identity{Boot: "b", Namespace: "c1", Index: 2, Name: "x"}) {
		t.Error("two interfaces without a MAC are taken for one")
	}
}

// FuzzRecord: what is taken is what was written, nothing beside it, and names the file
// that it belongs in.
func FuzzRecord(f *testing.F) {
	good := record{
		Version: recordVersion, NAPI: 8193, Old: knobs{0, 0}, New: knobs{2, 200_000},
		identity: identity{Boot: "5ec4", Namespace: "c1", Index: 4, Name: "eth0", MAC: "02:fc:00:00:00:01", PID: 12, Start: 99},
	}
	b, err := good.encode()
	if err != nil {
		f.Fatal(err)
	}
	if got, err := decodeRecord(b); err != nil || got != good {
		f.Fatalf("got %+v, %v", got, err)
	}
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add([]byte(`{"version":1}{}`))
	f.Add([]byte(`{"version":1,"boot":"b","netns":"c1","ifindex":1,"name":"x","pid":1,"new":{"napi_defer_hard_irqs":-1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, errGarbage) || r != (record{}) {
				t.Errorf("got %+v, %v", r, err)
			}
			return
		}
		if r.Index <= 0 || r.Boot == "" || r.New.deferral().Interrupts < 0 || !strings.HasPrefix(r.file(r.NAPI), r.prefix()) {
			t.Errorf("taken: %+v", r)
		}
		again, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeRecord(again); err == nil && back != r || err != nil && len(again) <= maxRecord {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	})
}
