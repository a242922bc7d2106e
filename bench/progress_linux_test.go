// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

func TestProgressLine(t *testing.T) {
	plan := suite.Plan{Rows: make([]control.Row, 2), Runs: 5, Duration: time.Second, Warmup: 300 * time.Millisecond}
	p := newProgress(new(bytes.Buffer), plan)
	defer p.end()
	if got, want := p.line(time.Now()), "bench: making namespaces"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.step(0, suite.Step{Row: control.Row{Path: "mmsg", Size: 64}, Run: 1})
	begun := p.begun
	if got, want := p.line(begun), "bench: 1 of 10, mmsg, 64 bytes, run 1, 15 s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.step(4, suite.Step{Row: control.Row{Path: "mmsg", Size: 64, Param: "mtu=8000"}, Run: 3})
	p.stepped = begun.Add(8 * time.Second) // 2 s a step
	for after, want := range map[time.Duration]string{
		time.Second:     "bench: 5 of 10, mmsg, 64 bytes, mtu=8000, run 3, 11 s left",
		time.Minute:     "bench: 5 of 10, mmsg, 64 bytes, mtu=8000, run 3, 0 s left",
		2 * time.Second: "bench: 5 of 10, mmsg, 64 bytes, mtu=8000, run 3, 10 s left",
	} {
		if got := p.line(p.stepped.Add(after)); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
}

// TestProgressSilent writes nothing where nobody reads along.
func TestProgressSilent(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, suite.Plan{})
	p.step(0, suite.Step{})
	p.end()
	if b.Len() > 0 {
		t.Errorf("wrote %q", b.String())
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if isTerminal(f) || isTerminal(&b) {
		t.Error("a file or a buffer passes for a terminal")
	}
}

func TestProgressTexts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 400 * time.Millisecond: "0 s", 99 * time.Second: "99 s", 100 * time.Second: "1 min 40 s", time.Hour + time.Second: "60 min 01 s",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	for width, want := range map[int]string{0: "größer", 1: "größer", 7: "größer", 6: "größe", 4: "grö"} {
		if got := fitLine("größer", width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}
