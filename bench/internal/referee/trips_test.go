// SPDX-License-Identifier: MIT

package referee

import (
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// tripBridge is a bridge with a line of each name.
func tripBridge(t *testing.T, names ...string) (*bridge, suite.Plan) {
	b := newBridge(t)
	b.lines = map[string]*pathtest.Line{}
	for _, n := range names {
		b.lines[n] = pathtest.NewLine(64)
	}
	p := planOf(rr.Name, 1, names...)
	p.Warmup, p.Duration, p.Patience = rr.Timeout, 4*rr.Timeout, 4*rr.Timeout
	return b, p
}

func TestRunTrips(t *testing.T) {
	b, p := tripBridge(t, "good", "lossy")
	l := b.lines["lossy"]
	l.Mode = "native copy"
	l.Requests.Drop, l.Answers.Hide = 50, 70
	b.prepare = func(p control.Prepare) {
		if p.Test != rr.Name || p.Batch != 1 {
			t.Errorf("asked for %+v", p)
		}
	}
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Results) != 4 || len(out.Skipped) != 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	for _, r := range out.Results {
		if r.Test != rr.Name || r.Sent == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost || r.Latency == nil || r.Latency.P50 <= 0 {
			t.Errorf("%+v", r)
		}
		if r.Path == "lossy" && (r.Loss[loss.Socket] == 0 || r.Loss[loss.Unaccounted] == 0 || r.Mode != "native copy") {
			t.Errorf("lossy: %+v", r)
		}
	}
}

// TestRunTripsLate has a link that carries requests at first, and no answers: that
// is none yet.
func TestRunTripsLate(t *testing.T) {
	b, p := tripBridge(t, "late")
	l := b.lines["late"]
	l.Answers.Hide = 1
	const dead = 300 * time.Millisecond
	p.Runs, p.Patience = 1, 20*dead
	time.AfterFunc(dead, func() { l.Set(func(l *pathtest.Line) { l.Answers.Hide = 0 }) })
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Results) != 1 || out.Results[0].Loss[loss.Unaccounted] != 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "carried nothing for the first") {
		t.Errorf("notes %q", out.Notes)
	}
}

// TestRunTripsDeaf has a server that never answers.
func TestRunTripsDeaf(t *testing.T) {
	b, p := tripBridge(t, "deaf")
	b.lines["deaf"].Answers.Hide = 1
	out, err := Run(t.Context(), p, b, quiet)
	if err != nil || len(out.Results) != 0 || len(out.Skipped) != 1 || !strings.Contains(out.Skipped[0].Reason, "nothing of") {
		t.Errorf("%v: %+v", err, out)
	}
}
