// SPDX-License-Identifier: MIT

package suite

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/report"
)

func TestSteps(t *testing.T) {
	rows := Common{Paths: []string{"a", "b"}, Sizes: []int{64, 1472}, MTUs: []int{1500}, Batch: 3}.Product()
	var got []string
	for _, s := range (Plan{Rows: rows, Runs: 2}).Steps() {
		if s.Batch != 3 || s.MTU != 1500 || s.Param != "" {
			t.Errorf("%+v", s)
		}
		got = append(got, strings.Join([]string{s.Key().String(), "run", string(rune('0' + s.Run))}, " "))
	}
	want := []string{
		"a, 64 bytes run 1", "b, 64 bytes run 1", "a, 1472 bytes run 1", "b, 1472 bytes run 1",
		"a, 64 bytes run 2", "b, 64 bytes run 2", "a, 1472 bytes run 2", "b, 1472 bytes run 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProduct names the MTU in rows that differ by it alone.
func TestProduct(t *testing.T) {
	p := Plan{Rows: Common{Paths: []string{"a", "b"}, Sizes: []int{64}, MTUs: []int{1500, 8000}}.Product()}
	want := []report.Key{{Path: "a", Size: 64, Param: "mtu=1500"}, {Path: "b", Size: 64, Param: "mtu=1500"}, {Path: "a", Size: 64, Param: "mtu=8000"}, {Path: "b", Size: 64, Param: "mtu=8000"}}
	if diff := cmp.Diff(want, p.Keys()); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(p.MTUs(), []int{1500, 8000}) || !slices.Equal(p.Paths(), []string{"a", "b"}) || !slices.Equal(p.Sizes(), []int{64}) {
		t.Errorf("MTUs %v, paths %v, sizes %v", p.MTUs(), p.Paths(), p.Sizes())
	}
}

// TestTests: every test is whole, and found under its name.
func TestTests(t *testing.T) {
	for _, want := range All() {
		got, err := Find(want.Name)
		if err != nil || got.Name != want.Name || got.Traffic == nil || got.Carried == nil || got.Count == nil || got.Columns == nil || got.Notes == nil {
			t.Errorf("%s: %+v, %v", want.Name, got, err)
		}
		if want.Defaults.MTU == "" || want.What == "" || want.Kind == "" {
			t.Errorf("%+v", want)
		}
		if want.Rows != nil {
			want.Rows(flag.NewFlagSet("", flag.ContinueOnError))
		}
	}
	if _, err := Find("relay race"); err == nil || !strings.Contains(err.Error(), `no test "relay race", there are stream, rr, mtu, camera, batch, rings, coalesce, rate, load, queues, forward`) {
		t.Errorf("error %v", err)
	}
}
