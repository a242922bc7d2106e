// SPDX-License-Identifier: MIT

package report

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// sides are the two ends of a run of a second: 1,000 datagrams of 1,024 bytes,
// 900 of them received, with one of two processors busy.
func sides() (control.Prepare, Side, Side) {
	p := control.Prepare{Test: "stream", Row: control.Row{Path: "mmsg", Size: 1024, Param: "batch=64", Batch: 64, MTU: 1500}}
	used := cpu.Times{User: 40, SoftIRQ: 60, Idle: 100, CPUs: 2}
	tx := Side{Facts: control.Facts{Machine: "a"}, Totals: control.Totals{
		Elapsed: time.Second, Sent: 1000, Machine: used, Info: path.Info{Mode: "-", Batch: 64, SendRoom: 4096, ReceiveRoom: 1},
		Lost: loss.Counts{{Place: loss.Send, N: 10}}, User: 400 * time.Millisecond, System: 200 * time.Millisecond, Refused: 3,
	}}
	rx := Side{Facts: control.Facts{Machine: "a"}, Totals: control.Totals{
		Elapsed: 900 * time.Millisecond, Machine: cpu.Times{User: 200, CPUs: 2}, Info: path.Info{Mode: "-", Batch: 64, SendRoom: 1, ReceiveRoom: 8192, BufferAsked: 4000, BufferGot: 2000},
		User:  180 * time.Millisecond,
		Tally: stream.Tally{Received: 900, Duplicated: 3, Reordered: 2},
		Lost:  loss.Counts{{Place: loss.Socket, N: 80}},
	}}
	return p, tx, rx
}

func TestCompute(t *testing.T) {
	p, tx, rx := sides()
	got, err := Compute(p, tx, rx, OneWay)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Test: "stream", Path: "mmsg", Mode: "-", Size: 1024, Param: "batch=64", MTU: 1500, Batch: 64,
		TXPPS: 1000, RXPPS: 900, GoodputBPS: 900 * 1024 * 8, Seconds: 1,
		Sent: 1000, Received: 900, Lost: 100, Duplicated: 3, Reordered: 2,
		Loss:    loss.Split{loss.Send: 10, loss.Socket: 80, loss.Unaccounted: 10},
		CPUUtil: 50,
		// One processor, a million microseconds, for 900 KB.
		ServiceDemand: 1e6 / 900,
		TXRoom:        4096, RXRoom: 8192, TXSeconds: 1, RXSeconds: 0.9, TXCPUUtil: 50, RXCPUUtil: 50,
		TXDemand: 1e6 / 1000, RXDemand: 1e6 / 1000, // 900 KB in 0.9 s are 1,000 KB/s
		Use: &Use{User: 20, SoftIRQ: 30, TXProcess: 60, RXProcess: 20, PerDatagram: 1e6 / 900, BufferAsked: 4000, BufferGot: 2000, Refused: 3},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
	if got.LostPercent() != 10 {
		t.Errorf("lost %v %%", got.LostPercent())
	}
}

// TestComputeTwoMachines charges the processors of both.
func TestComputeTwoMachines(t *testing.T) {
	p, tx, rx := sides()
	rx.Facts.Machine = "b"
	got, err := Compute(p, tx, rx, OneWay)
	if err != nil {
		t.Fatal(err)
	}
	// 100 busy ticks of 200 on one, 200 of 200 on the other.
	if got.TXCPUUtil != 50 || got.RXCPUUtil != 100 || math.Abs(got.RXDemand-2e6/1000) > 1e-6 {
		t.Errorf("sender %v %%, receiver %v %% and %v µs/KB", got.TXCPUUtil, got.RXCPUUtil, got.RXDemand)
	}
	if math.Abs(got.CPUUtil-75) > 1e-9 || math.Abs(got.ServiceDemand-3e6/900) > 1e-6 {
		t.Errorf("%v %%, %v µs/KB; want 75 %%, %v", got.CPUUtil, got.ServiceDemand, 3e6/900)
	}
}

// TestComputeSlowerEnd takes the time of whichever end took longer: a receiver
// that was still reading when the sender was done did not receive faster.
func TestComputeSlowerEnd(t *testing.T) {
	p, tx, rx := sides()
	rx.Totals.Elapsed = 2 * time.Second
	got, err := Compute(p, tx, rx, OneWay)
	if err != nil || got.Seconds != 2 || got.RXPPS != 450 || got.TXPPS != 500 {
		t.Errorf("%v: %v s, %v sent, %v received a second", err, got.Seconds, got.TXPPS, got.RXPPS)
	}
}

func TestComputeNothingArrived(t *testing.T) {
	p, tx, rx := sides()
	rx.Totals.Tally = stream.Tally{}
	rx.Totals.Elapsed = 0
	got, err := Compute(p, tx, rx, OneWay)
	if err != nil || got.Lost != 1000 || got.ServiceDemand != 0 || got.RXDemand != 0 || got.Loss.Sum() != 1000 {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestComputeRefuses(t *testing.T) {
	p, tx, rx := sides()
	rx.Totals.Tally.Received = 1001
	if got, err := Compute(p, tx, rx, OneWay); err == nil {
		t.Errorf("more received than sent: %+v", got)
	}
	p, tx, rx = sides()
	tx.Totals.Elapsed, rx.Totals.Elapsed = 0, 0
	if got, err := Compute(p, tx, rx, OneWay); err == nil {
		t.Errorf("no time: %+v", got)
	}
}

func TestMode(t *testing.T) {
	tests := []struct{ tx, rx, want string }{
		{"-", "-", "-"},
		{"segmented", "-", "segmented"},
		{"copy", "native copy", "native copy"},
		{"zero-copy", "native zero-copy", "native zero-copy"},
		{"copy", "native zero-copy", "copy/native zero-copy"},
		{"zero-copy", "generic copy", "zero-copy/generic copy"},
		{"-", "native copy", "native copy"},
	}
	for _, tt := range tests {
		if got := mode(tt.tx, tt.rx); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.tx, tt.rx, got, tt.want)
		}
	}
}
