// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/spawn"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/bench/internal/suite"
	"github.com/xdpath/xdpath/bench/internal/worker"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestMain lets the test program be a worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := worker.ServeFD(spawn.FD); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func local(t *testing.T) *Local {
	t.Helper()
	testnet.Require(t)
	testnet.Leaks(t)
	l, err := NewLocal("/proc/self/exe", "worker")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestLocalEnds checks that the two workers are where they should be.
func TestLocalEnds(t *testing.T) {
	l := local(t)
	tx, rx, err := l.Ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(tx.Facts.Pinned) != 1 || len(rx.Facts.Pinned) != 1 || tx.Facts.PID == rx.Facts.PID || tx.Facts.Machine != rx.Facts.Machine {
		t.Errorf("sender %+v, receiver %+v", tx.Facts, rx.Facts)
	}
	for _, e := range []*End{tx, rx} {
		// Every thread, those of the runtime too, is tied to the processor.
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", e.Facts.PID))
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range threads {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", e.Facts.PID, th.Name()))
			if err != nil {
				continue // it has ended
			}
			if want := fmt.Sprintf("Cpus_allowed_list:\t%d\n", e.Facts.Pinned[0]); !strings.Contains(string(status), want) {
				t.Errorf("thread %s: not %q", th.Name(), want)
			}
		}
	}
	again, _, err := l.Ends(t.Context())
	if err != nil || again != tx {
		t.Errorf("another worker without need: %v", err)
	}
}

func localPlan(paths ...string) suite.Plan { return localPlanOf(stream.Name, 64, paths...) }

func localPlanOf(test string, batch int, paths ...string) suite.Plan {
	p := planOf(test, batch, paths...)
	p.Duration, p.Warmup, p.Patience, p.Runs = 100*time.Millisecond, 20*time.Millisecond, 10*time.Second, 1
	return p
}

// possible are the paths that do k on a veth, which is never zero-copy. Two are xdp with
// another mode, which is nothing to a referee.
func possible(k path.Kind) []string {
	return slices.DeleteFunc(path.Names(k), func(name string) bool {
		return slices.Contains([]string{"xdp-zerocopy", "xdp-copy", "xdp-generic"}, name)
	})
}

// TestLocalRepeated opens and closes all paths again and again, with the worker
// kept or replaced as each needs it.
func TestLocalRepeated(t *testing.T) {
	l := local(t)
	p := localPlan(possible(path.Stream)...)
	p.Duration, p.Runs = 5*time.Millisecond, 5
	out, err := Run(t.Context(), p, l, quiet)
	if err != nil || len(out.Skipped) != 0 || len(out.Results) != 5*len(p.Rows) {
		t.Errorf("%v: %d results, skipped %+v", err, len(out.Results), out.Skipped)
	}
}

// TestLocalTripsRepeated does so with all paths for round trips.
func TestLocalTripsRepeated(t *testing.T) {
	l := local(t)
	p := localPlanOf(rr.Name, 1, possible(path.Trips)...)
	p.Duration, p.Warmup, p.Runs = 5*time.Millisecond, 5*time.Millisecond, 3
	out, err := Run(t.Context(), p, l, quiet)
	if err != nil || len(out.Skipped) != 0 || len(out.Results) != 3*len(p.Rows) {
		t.Errorf("%v: %d results, skipped %+v", err, len(out.Results), out.Skipped)
	}
}

// TestLocalBatches runs the smallest and the largest batch.
func TestLocalBatches(t *testing.T) {
	l := local(t)
	for _, batch := range []int{1, 1024} {
		out, err := Run(t.Context(), localPlanOf(stream.Name, batch, possible(path.Stream)...), l, quiet)
		if err != nil || len(out.Skipped) != 0 {
			t.Errorf("batch %d: %v, skipped %+v", batch, err, out.Skipped)
		}
		for _, r := range out.Results {
			most := batch
			switch r.Path {
			case "socket", "udpconn", "xdp-packetconn":
				most = 1
			case "gso", "gso-veth":
				most = min(batch, 64)
			}
			if r.Batch != most || r.Received == 0 || r.Loss.Sum() != r.Lost {
				t.Errorf("batch %d: %+v", batch, r)
			}
		}
	}
}

// TestLocalFlap has the sender's link go down just before the bench begins and
// come up two seconds later: nothing of the dead time is in the result.
func TestLocalFlap(t *testing.T) {
	for _, name := range []string{"mmsg", "xdp"} {
		t.Run(name, func(t *testing.T) {
			l := local(t)
			if err := l.pair.A.SetUp(false); err != nil {
				t.Fatal(err)
			}
			up := make(chan error, 1)
			time.AfterFunc(2*time.Second, func() { up <- l.pair.A.SetUp(true) })
			out, err := Run(t.Context(), localPlan(name), l, quiet)
			if err := <-up; err != nil {
				t.Fatal(err)
			}
			if err != nil || len(out.Results) != 1 {
				t.Fatalf("%v: %+v", err, out)
			}
			if r := out.Results[0]; r.Received == 0 || r.Seconds > 1 || r.Loss[loss.Unaccounted] != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestLocalCut takes the receiver's link down in the middle of a run and keeps it
// so. What was sent into the void is in the books, with its place.
func TestLocalCut(t *testing.T) {
	for _, name := range possible(path.Stream) {
		t.Run(name, func(t *testing.T) {
			localCut(t, localPlan(name), 20_000)
		})
	}
	for _, name := range possible(path.Trips) {
		t.Run("rr/"+name, func(t *testing.T) {
			localCut(t, localPlanOf(rr.Name, 1, name), 500)
		})
	}
}

// localCut runs a plan of one step and cuts the link when so many packets have
// come to the receiver: more than a warm-up of a millisecond sends.
func localCut(t *testing.T, p suite.Plan, packets uint64) {
	l := local(t)
	p.Warmup, p.Duration = time.Millisecond, time.Second
	cut := make(chan error, 1)
	go func() { cut <- cutAfter(t.Context(), l, packets) }()
	out, err := Run(t.Context(), p, l, quiet)
	if err := errors.Join(err, <-cut); err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Skipped {
		t.Logf("refused: %s", s.Reason)
	}
	for _, r := range out.Results {
		t.Logf("sent %d, received %d, lost %v", r.Sent, r.Received, r.Loss)
		if r.Received == 0 || r.Lost == 0 || r.Loss[loss.Unaccounted] != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// cutAfter takes the receiver's link down once it has received so many packets.
func cutAfter(ctx context.Context, l *Local, packets uint64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var st *netlink.LinkStatistics
		err := l.pair.B.NS.Do(func() error {
			link, err := netlink.LinkByName(l.pair.B.Name)
			if err == nil {
				st = link.Attrs().Statistics
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case st != nil && st.RxPackets >= packets:
			return l.pair.B.SetUp(false)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
