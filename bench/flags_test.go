// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/path"
)

// known are the paths of these tests.
func known(k path.Kind) []string {
	if k == path.Trips {
		return []string{"socket", "socket-spin", "xdp"}
	}
	return []string{"socket", "mmsg", "xdp-raw", "xdp"}
}

// usual are those that run by themselves.
func usual(k path.Kind) []string {
	if k == path.Trips {
		return known(k)
	}
	return []string{"socket", "mmsg", "xdp"}
}

func TestFlagDefaults(t *testing.T) {
	o, err := parseFlags(nil, known, usual, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := o.plan
	if p.Test.Name != "stream" || !slices.Equal(p.Paths(), usual(path.Stream)) || !slices.Equal(p.Sizes(), []int{64, 1472}) || p.Duration != time.Second ||
		p.Runs != 3 || !slices.Equal(p.MTUs(), []int{1500}) || p.Rows[0].Batch != 64 || o.out.json != "" || p.Warmup <= 0 || p.Patience <= 0 {
		t.Errorf("%+v", o)
	}
	// All paths of the issue, with two sizes, must fit into a minute.
	const overhead = 300 * time.Millisecond // to open, drain and close
	if took := 5 * 2 * time.Duration(p.Runs) * (p.Duration + p.Warmup + overhead); took > time.Minute {
		t.Errorf("the defaults take %v", took)
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags(strings.Fields("-paths xdp,mmsg -sizes 18,8972 -duration 2s -runs 5 -mtu 9000 -batch 32 -json r.json"), known, usual, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := o.plan
	if !slices.Equal(p.Paths(), []string{"xdp", "mmsg"}) || !slices.Equal(p.Sizes(), []int{18, 8972}) || p.Duration != 2*time.Second ||
		p.Runs != 5 || !slices.Equal(p.MTUs(), []int{9000}) || p.Rows[0].Batch != 32 || o.out.json != "r.json" {
		t.Errorf("%+v", o)
	}
}

// TestFlagSizes: there is a word for a sweep, and sizes may be larger than the MTU.
func TestFlagSizes(t *testing.T) {
	for sizes, want := range map[string][]int{"sweep": {18, 64, 128, 256, 512, 1024, 1400, 1472}, "32768,47104": {32768, 47104}} {
		if o, err := parseFlags([]string{"-sizes", sizes}, known, usual, nil); err != nil || !slices.Equal(o.plan.Sizes(), want) {
			t.Errorf("%s: %v, %v", sizes, o.plan.Sizes(), err)
		}
	}
}

func TestFlagTests(t *testing.T) {
	for _, args := range []string{"", "stream"} {
		if o, err := parseFlags(strings.Fields(args), known, usual, nil); err != nil || o.plan.Test.Name != "stream" {
			t.Errorf("%q: %+v, %v", args, o.plan, err)
		}
	}
	o, err := parseFlags(strings.Fields("rr -runs 5"), known, usual, nil)
	p := o.plan
	if err != nil || p.Test.Name != "rr" || !slices.Equal(p.Paths(), known(path.Trips)) || !slices.Equal(p.Sizes(), []int{64}) || p.Rows[0].Batch != 1 || p.Runs != 5 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFlagAllPaths(t *testing.T) {
	for test, kind := range map[string]path.Kind{"stream": path.Stream, "rr": path.Trips} {
		o, err := parseFlags([]string{test, "-paths", "all"}, known, usual, nil)
		if err != nil || !slices.Equal(o.plan.Paths(), known(kind)) {
			t.Errorf("%v, %v", o.plan.Paths(), err)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	tests := []struct{ args, want string }{
		{"-paths carrier-pigeon", `no path "carrier-pigeon", there are socket, mmsg, xdp-raw, xdp`},
		{"-paths=", `no path ""`},
		{"-paths xdp,", `no path ""`},
		{"-paths xdp,mmsg,xdp", "xdp stands there twice"},
		{"-sizes=", "no number of bytes"},
		{"-sizes 64,big", `"big" is no number of bytes`},
		{"-sizes 15", "-sizes 15: must be 16 to 65507"},
		{"-sizes -64", "-sizes -64: must be 16"},
		{"-sizes 64,64", "64 stands there twice"},
		{"-sizes 64 -mtu 67", "-mtu 67: must be 68 to 65535"},
		{"-mtu 65536", "-mtu 65536"},
		{"-mtu large", `"large" is no number of bytes`},
		{"-duration 0s", "-duration 0s: must be 1ms to 10m0s"},
		{"-duration -1s", "-duration -1s"},
		{"-duration 11m", "-duration 11m0s"},
		{"-duration fast", "invalid value"},
		{"-runs 0", "-runs 0: must be 1 to 1000"},
		{"-batch 0", "-batch 0: must be 1 to 1024"},
		{"-batch 1025", "-batch 1025"},
		{"-runs 0 -batch 0", "-batch 0"},
		{"-frobnicate", "not defined: -frobnicate (bench stream -h lists the flags)"},
		{"worker bees", `no test "worker", there are stream, rr, mtu, camera, batch, rings, coalesce, rate, load, queues, forward`},
		{"iperf3", "and the commands report, compare, check, "},
		{"stream rr", `argument "rr": after the test`},
		{"-runs 1 rr", `argument "rr": after the test`},
		{"rr -batch 2", "not defined"},
		{"camera -sizes 64", "not defined"},
		{"camera -rate 0 -paths xdp", "-rate 0"},
		{"rr -paths mmsg", `no path "mmsg", there are socket, socket-spin, xdp`},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(tt.args), known, usual, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestFlagHelp(t *testing.T) {
	var b bytes.Buffer
	if _, err := parseFlags([]string{"-h"}, known, usual, &b); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"usage: bench [test]", "stream", "rr", "-paths", "-sizes", "-duration", "-runs", "-mtu", "-batch", "-json", "-csv", "-html", "-format", "report", "compare"} {
		if !strings.Contains(b.String(), name) {
			t.Errorf("help lacks %s:\n%s", name, b.String())
		}
	}
}
