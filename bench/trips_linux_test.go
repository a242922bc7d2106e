// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestTripsEndToEnd makes round trips over all paths for a moment. It checks that
// the books balance, and that each path says what it did; never how fast.
func TestTripsEndToEnd(t *testing.T) {
	doc, table := measure(t, "rr -duration 100ms -runs 2")
	names := path.Usual(path.Trips)
	if len(doc.Env.Skipped) > 0 || len(doc.Results) != 2*len(names) {
		t.Errorf("%d results of %d paths; did not run: %+v", len(doc.Results), len(names), doc.Env.Skipped)
	}
	for _, r := range doc.Results {
		balanceTrips(t, r)
		want := "native copy"
		if r.Path == "socket" || r.Path == "socket-spin" || r.Path == "udpconn" {
			want = "-"
		}
		if r.Mode != want || r.Size != 64 || r.Seconds < 0.1 || r.CPUUtil <= 0 {
			t.Errorf("%s: mode %q, want %q: %+v", r.Path, r.Mode, want, r)
		}
	}
	for _, text := range append(names, "p99.9", "µs", "closed", "HDR") {
		if !strings.Contains(table, text) {
			t.Errorf("%s is not in the table", text)
		}
	}
}

// balanceTrips checks what must hold between the figures of a run of round trips.
func balanceTrips(t *testing.T, r report.Result) {
	t.Helper()
	if r.Test != "rr" || r.Batch != 1 || r.Sent == 0 || r.Received == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost {
		t.Errorf("the books do not balance: %+v", r)
	}
	// What comes too late on a busy machine is known to.
	if n := r.Loss[loss.Unaccounted]; n > 0 || r.Lost != r.Loss[loss.Late] {
		t.Errorf("lost, but nothing is in the way: %+v", r)
	}
	l := r.Latency
	if l == nil || l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
		t.Fatalf("no distribution: %+v", r)
	}
	// One at a time: half of the trips are not shorter than the median.
	if float64(r.Received)/2*l.P50 > 1.01e6*r.Seconds {
		t.Errorf("%d round trips of %v µs in %v s", r.Received, l.P50, r.Seconds)
	}
	if math.Abs(r.RXPPS*r.Seconds-float64(r.Received)) > 1e-6*float64(r.Received) {
		t.Errorf("%+v", r)
	}
}

// TestTripsSizes has a size that one path cannot carry.
func TestTripsSizes(t *testing.T) {
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	args := strings.Fields("rr -paths socket,asavie,xdp -duration 20ms -runs 1 -mtu 9000 -sizes 16,8000 -json " + file)
	if status := run(args, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	doc := read(t, file)
	sizes := map[int]int{}
	for _, r := range doc.Results {
		balanceTrips(t, r)
		sizes[r.Size]++
	}
	if !strings.Contains(stdout.String(), "not run: receiver: asavie has no multi-buffer") || sizes[8000] != 2 || sizes[16] != 2 || len(doc.Env.Skipped) != 2 {
		t.Errorf("%v, skipped %+v:\n%s", sizes, doc.Env.Skipped, stdout.String())
	}
}

// TestTripsKilled kills the test in the middle of a run, and asks another to end:
// nothing is left of either.
func TestTripsKilled(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGINT} {
		for _, name := range []string{"socket-spin", "asavie", "xdp", "xdp-busy"} {
			t.Run(unix.SignalName(sig)+"/"+name, func(t *testing.T) {
				r := startBench(t, "rr", "-paths", name, "-duration", "5m")
				if err := r.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				_ = r.cmd.Wait()
				if status := r.cmd.ProcessState.ExitCode(); sig == unix.SIGINT && status != exitInterrupted {
					t.Errorf("exit status %d: %s", status, r.stderr.String())
				}
				r.gone(t)
			})
		}
	}
}
