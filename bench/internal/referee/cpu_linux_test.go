// SPDX-License-Identifier: MIT

package referee

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// procStat reads the first line of /proc/stat, without anything of the bench: ticks of
// all processors, busy and in all.
func procStat(t *testing.T) (busy, total float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	// user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
	for i, field := range strings.Fields(line)[1:9] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += v
		if i != 3 && i != 4 {
			busy += v
		}
	}
	return busy, total
}

// TestLocalCPU reads /proc/stat around a window of real workers. What they charge to it
// is no more than that, and less only by what the time between the two readings can
// hold.
func TestLocalCPU(t *testing.T) {
	l := local(t)
	p := localPlan("mmsg", "xdp")
	p.Duration = 500 * time.Millisecond
	ctx := t.Context() // workers end with it, and outlive a path
	for _, row := range p.Rows {
		t.Run(row.Path, func(t *testing.T) {
			tx, rx, err := l.Ends(ctx)
			if err != nil {
				t.Fatal(err)
			}
			r := &runner{plan: p, link: l}
			step := suite.Step{Row: row, Run: 1}
			defer rx.close()
			defer tx.close()
			if err := rx.prepare(question(r.plan.Test, step, control.RoleReceiver, rx, tx)); err != nil {
				t.Fatal(err)
			}
			question := question(r.plan.Test, step, control.RoleSender, tx, rx)
			if err := tx.prepare(question); err != nil {
				t.Fatal(err)
			}
			busy, total := procStat(t)
			sent, got, err := r.open(tx, rx, p.Duration, 0)
			busyAfter, totalAfter := procStat(t)
			if err != nil {
				t.Fatal(err)
			}
			checkCPU(t, sent, busyAfter-busy, totalAfter-total)
			result, err := report.Compute(question, report.Side{Facts: tx.Facts, Totals: sent}, report.Side{Facts: rx.Facts, Totals: got}, p.Test.Count)
			if err != nil {
				t.Fatal(err)
			}
			// Both ends are on this machine: the figures are those of the sender's window.
			m := sent.Machine
			wall := m.Wall.Seconds()
			idle := float64(m.Idle+m.IOWait) / 100
			util := 100 * max(0, wall-idle) / wall
			kb := float64(result.Received) * float64(row.Size) / 1024
			demand := util / 100 * float64(tx.Facts.CPUs) * result.Seconds * 1e6 / kb
			if math.Abs(result.CPUUtil-util) > 1e-9 || math.Abs(result.ServiceDemand/demand-1) > 1e-9 {
				t.Errorf("CPU at %v %%, want %v; %v µs/KB, want %v", result.CPUUtil, util, result.ServiceDemand, demand)
			}
		})
	}
}

// checkCPU compares what the sender charged to its window with what was read around it.
func checkCPU(t *testing.T, sent control.Totals, busy, total float64) {
	t.Helper()
	m := sent.Machine
	const hz = 100 // ticks a second, on every architecture of today
	window := sent.Elapsed.Seconds() * hz * float64(m.CPUs)
	// The kernel adds a tick to a processor's time when it sees one, so each
	// reading may be off by one of each; and those that a virtual machine has slept
	// through it adds late.
	off := 2*float64(m.CPUs) + window/20
	around := total - window + 2*off
	if b := float64(m.Busy()); b > busy+off || b < busy-around {
		t.Errorf("%v ticks busy, read around it %v, of which %.0f are outside", b, busy, around)
	}
	if n := float64(m.Total()); n > total+off || n < window-off-window/10 {
		t.Errorf("%v ticks in all, read around it %v, in a window of %.0f", n, total, window)
	}
}
