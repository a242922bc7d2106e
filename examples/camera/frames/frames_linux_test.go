// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/testnet"
)

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

// A short demonstration with small images: all that are sent come, either way, at
// either MTU, and what is looked at is right to the last byte.
func TestFrames(t *testing.T) {
	testnet.Require(t)
	testnet.Leaks(t)
	p, err := parse(strings.Fields("-duration 1s -slice 500ms -rate 20 -width 320 -height 240"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	rows, err := p.run(t.Context(), &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	write(&out, p, rows)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.sent < 2 || r.complete != r.sent || r.wrong != 0 || r.checked == 0 || r.wire+r.ring+r.other+r.missing != 0 {
			t.Errorf("%+v", r)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"-mtu 100": "-mtu 100", "-mtu x": "-mtu x", "-via raw": "-via raw", "-slice 1ms": "-slice 1ms",
		"-duration 1s -slice 2s": "-duration 1s", "more": "flags only",
	} {
		if _, err := parse(strings.Fields(args), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	p, err := parse(nil, os.Stderr)
	if err != nil || p.duration != time.Minute || len(p.mtus) != 2 || len(p.vias) != 2 || p.bytes() != 1280*1024 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Busy is what is not idle, of all processors.
func TestClock(t *testing.T) {
	stat := func(idle, wait string) string {
		return "cpu  900 0 800 " + idle + " " + wait + " 0 70 0 0 0\ncpu0 1 0 1 1 1 0 0 0 0 0\ncpu1 1 0 1 1 1 0 0 0 0 0\nintr 5 0\n"
	}
	begin := time.Unix(1000, 0)
	a, err := parseClock(stat("1000", "10"), begin)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseClock(stat("1140", "20"), begin.Add(time.Second))
	if err != nil || b.busy(a) != 500*time.Millisecond {
		t.Errorf("%v, %v", b.busy(a), err)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu 1 1 1 x 1 1"} {
		if c, err := parseClock(bad, begin); err == nil {
			t.Errorf("%q: %+v", bad, c)
		}
	}
	if c, err := read(); err != nil || c.processors < 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
