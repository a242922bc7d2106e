// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestSweepsEndToEnd has a look at every sweep. Books balance and every row is told
// apart; never how fast.
func TestSweepsEndToEnd(t *testing.T) {
	for _, tt := range []struct {
		args string
		rows int
	}{
		{"batch -paths all -batches 1,64", 2 * 14},
		{"rings", 2 * 2},
		{"rings -paths xdp-raw -vary rx,tx,fill", 3 * 2},
		{"coalesce", 4},
		{"queues", 2 * 4},
		{"rate -paths all -rates 20000", 14},
		{"rate -search 0.5 -paths mmsg,xdp", 2},
	} {
		t.Run(tt.args, func(t *testing.T) {
			doc, table := measure(t, tt.args+" -quick -duration 50ms")
			name, _, _ := strings.Cut(tt.args, " ")
			seen := map[report.Key]bool{}
			for _, r := range doc.Results {
				balance(t, doc, r)
				if seen[r.Key()] || r.Param == "" || r.Test != name || r.Loss[loss.Unaccounted] > 0 {
					t.Errorf("%+v", r)
				}
				seen[r.Key()] = true
				if r.Param == "rate=20000" && (r.Offered != 20000 || r.TXPPS > 1.05*r.Offered) {
					t.Errorf("%s: sent %v a second", r.Key(), r.TXPPS)
				}
				if r.Param == "loss=0.5" && r.LostPercent() > 0.5 {
					t.Errorf("%s: lost %v %%", r.Key(), r.LostPercent())
				}
				if (name == "coalesce") != (r.Latency != nil) {
					t.Errorf("%s: latency %+v", r.Key(), r.Latency)
				}
			}
			for _, s := range doc.Env.Skipped {
				// A machine that is busy with other things may lose at any rate.
				if s.Path != "xdp-zerocopy" && !strings.Contains(s.Reason, "even at") {
					t.Errorf("did not run: %+v", s)
				}
			}
			if len(doc.Env.Rows) != tt.rows || len(doc.Results)+len(doc.Env.Skipped) != tt.rows {
				t.Errorf("%d results of %d rows, want %d:\n%s", len(doc.Results), len(doc.Env.Rows), tt.rows, table)
			}
		})
	}
}

// TestSweepReasons: a path that cannot be set so is a row with the reason.
func TestSweepReasons(t *testing.T) {
	for args, want := range map[string]string{
		"rings -paths mmsg -vary rx -rings 64":         "mmsg has no rings that can be set one by one",
		"coalesce -paths socket -frames 4 -delays 100": "socket has no coalescing of what it sends",
	} {
		doc, table := measure(t, args+" -quick -duration 20ms")
		if len(doc.Results) > 0 || !strings.Contains(strings.Join(strings.Fields(table), " "), want) {
			t.Errorf("%s: no %q in\n%s", args, want, table)
		}
	}
}

// TestFlagQuick: every test has it, and other flags have the last word.
func TestFlagQuick(t *testing.T) {
	for _, test := range suite.All() {
		o, err := parseFlags([]string{test.Name, "-quick"}, path.Names, path.Usual, nil)
		const overhead = 300 * time.Millisecond
		took := time.Duration(len(o.plan.Steps())) * (time.Duration(o.plan.Windows())*o.plan.Duration + o.plan.Warmup + overhead)
		if err != nil || o.plan.Runs != 1 || o.plan.Duration > time.Second || took > 15*time.Second {
			t.Errorf("%s: %d runs of %v, %v in all, %v", test.Name, o.plan.Runs, o.plan.Duration, took, err)
		}
		o, err = parseFlags([]string{test.Name, "-quick", "-runs", "2", "-duration", "1s"}, path.Names, path.Usual, nil)
		if err != nil || o.plan.Runs != 2 || o.plan.Duration != time.Second {
			t.Errorf("%s: %+v, %v", test.Name, o.plan, err)
		}
	}
}

// TestLoadEndToEnd floods every receiver from the kernel.
func TestLoadEndToEnd(t *testing.T) {
	doc, table := measure(t, "load -paths all -sizes 64 -quick -duration 50ms")
	if want := len(path.Names(path.Load)); len(doc.Results) != want-1 || len(doc.Env.Skipped) != 1 {
		t.Errorf("%d results of %d paths, did not run: %+v", len(doc.Results), want, doc.Env.Skipped)
	}
	for _, r := range doc.Results {
		if r.Received == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost || r.Loss[loss.Unaccounted] > 0 {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(table, "live frames") {
		t.Errorf("no note of the generator in\n%s", table)
	}
}

// TestForwardEndToEnd floods the middle of three from both sides, by every path.
func TestForwardEndToEnd(t *testing.T) {
	doc, table := measure(t, "forward -sizes 64,1472 -quick -duration 50ms")
	modes := map[string]string{"kernel": "-", "redirect": "native", "xdp": "native copy"}
	if len(doc.Results) != 2*len(modes) || len(doc.Env.Skipped) > 0 {
		t.Errorf("%d results, did not run: %+v", len(doc.Results), doc.Env.Skipped)
	}
	for _, r := range doc.Results {
		if r.Mode != modes[r.Path] || r.Ways == nil || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost || r.Loss[loss.Unaccounted] > 0 {
			t.Errorf("%+v", r)
			continue
		}
		var sent, received uint64
		for _, w := range r.Ways {
			if w.Received == 0 || w.Sent != w.Received+w.Lost {
				t.Errorf("%s: %+v", r.Path, w)
			}
			sent, received = sent+w.Sent, received+w.Received
		}
		if sent != r.Sent || received != r.Received {
			t.Errorf("%s: ways %+v of %d sent, %d received", r.Path, r.Ways, r.Sent, r.Received)
		}
	}
	if !strings.Contains(table, "C to A") {
		t.Errorf("no ways in\n%s", table)
	}
}

// TestForwardPeer: there is no forward between two machines.
func TestForwardPeer(t *testing.T) {
	testnet.Require(t)
	var stdout, stderr bytes.Buffer
	if got := run(strings.Fields("forward -quick -peer 127.0.0.1 -i lo"), &stdout, &stderr); got != exitUsage || !strings.Contains(stderr.String(), "three namespaces of one machine") {
		t.Errorf("exit status %d: %s", got, stderr.String())
	}
}
