// SPDX-License-Identifier: MIT

package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

const stat = `cpu  100 20 300 4000 50 6 70 8 90 9
cpu0 50 10 150 2000 25 3 35 4 45 5
cpu1 50 10 150 2000 25 3 35 4 45 4
intr 12345 0 0
ctxt 99
softirq 5 1 2 3
`

func TestParseStat(t *testing.T) {
	got, err := ParseStat(stat)
	want := Times{User: 100, Nice: 20, System: 300, Idle: 4000, IOWait: 50, IRQ: 6, SoftIRQ: 70, Steal: 8, CPUs: 2}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	// Guest time is part of user time and must not count twice.
	if got.Busy() != 504 || got.Total() != 4554 {
		t.Errorf("busy %d of %d, want 504 of 4554", got.Busy(), got.Total())
	}
}

func TestParseStatErrors(t *testing.T) {
	tests := map[string]string{
		"empty":        "",
		"no sum":       "cpu0 1 2 3 4 5 6 7 8\n",
		"no processor": "cpu  1 2 3 4 5 6 7 8\n",
		"few columns":  "cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n",
		"not a number": "cpu  1 2 3 4 x 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n",
		"negative":     "cpu  1 2 3 4 -5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n",
		"cut short":    "cp",
	}
	for name, text := range tests {
		if got, err := ParseStat(text); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestSince(t *testing.T) {
	before := Times{User: 10, Nice: 1, System: 5, Idle: 100, IOWait: 7, IRQ: 1, SoftIRQ: 2, Steal: 3, CPUs: 2, At: 1500}
	after := Times{User: 110, Nice: 3, System: 10, Idle: 99, IOWait: 9, IRQ: 2, SoftIRQ: 52, Steal: 3, CPUs: 4, At: 1700}
	want := Times{User: 100, Nice: 2, System: 5, Idle: 0, IOWait: 2, IRQ: 1, SoftIRQ: 50, CPUs: 4, Wall: 800}
	if got := after.Since(before); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPlus(t *testing.T) {
	a := Times{1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 0}
	b := Times{10, 20, 30, 40, 50, 60, 70, 80, 4, 90, 0}
	if got, want := a.Plus(b), (Times{11, 22, 33, 44, 55, 66, 77, 88, 6, 99, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestUtilization(t *testing.T) {
	tests := []struct {
		name string
		t    Times
		want float64
	}{
		{"no tick", Times{CPUs: 2}, 0},
		{"idle", Times{Idle: 200, CPUs: 2}, 0},
		{"waiting for a disk is idle", Times{IOWait: 200, CPUs: 2}, 0},
		{"one of two", Times{User: 100, Idle: 100, CPUs: 2}, 50},
		{"soft interrupts count", Times{SoftIRQ: 50, IRQ: 50, Idle: 100, CPUs: 2}, 50},
		{"stolen time counts", Times{Steal: 50, Idle: 150, CPUs: 2}, 25},
		{"what ticks have missed", Times{User: 1, Idle: 100, IOWait: 50, CPUs: 2, Wall: 2 * time.Second}, 25},
		{"what ticks saw too often", Times{User: 100, Idle: 150, CPUs: 2, Wall: 2 * time.Second}, 25},
		{"idle by more than the clock", Times{Idle: 201, CPUs: 2, Wall: 2 * time.Second}, 0},
		{"never idle", Times{User: 190, CPUs: 2, Wall: 2 * time.Second}, 100},
		{"all", Times{User: 1, Nice: 2, System: 3, IRQ: 4, SoftIRQ: 5, Steal: 6, CPUs: 1}, 100},
	}
	for _, tt := range tests {
		if got := tt.t.Utilization(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v %%, want %v", tt.name, got, tt.want)
		}
	}
}

// TestServiceDemandDefinition checks against what the figure means, computed
// another way and with exact numbers: busy processor time by data moved.
func TestServiceDemandDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const hz = 100
	for range 1000 {
		cpus := 1 + rng.IntN(64)
		seconds := 1 + rng.IntN(10)
		ticks := uint64(cpus * seconds * hz)
		busy := rng.Uint64N(ticks + 1)
		bytes := 1 + rng.Uint64N(10_000_000_000)

		used := Times{System: busy, Idle: ticks - busy, CPUs: cpus}
		got := ServiceDemand(used.Utilization(), cpus, float64(bytes)/float64(seconds))

		micros := new(big.Rat).Mul(big.NewRat(int64(busy), 1), big.NewRat(1_000_000, hz))
		want, _ := new(big.Rat).Quo(micros, big.NewRat(int64(bytes), 1024)).Float64()
		if math.Abs(got-want) > 1e-9*math.Max(1, want) {
			t.Fatalf("busy %d of %d ticks on %d processors, %d bytes in %d s: %v µs/KB, want %v", busy, ticks, cpus, bytes, seconds, got, want)
		}
	}
}

// TestServiceDemandNetperf is the arithmetic of netperf's manual: the CPU
// utilization in percent, times 10,000, times the number of CPUs, by KB/s.
func TestServiceDemandNetperf(t *testing.T) {
	// 25 % of 4 processors is one whole processor: 1,000,000 µs a second. At
	// 1,000 KB a second that is 1,000 µs for each.
	if got := ServiceDemand(25, 4, 1000*1024); math.Abs(got-1000) > 1e-9 {
		t.Errorf("%v µs/KB, want 1000", got)
	}
	if got := ServiceDemand(50, 2, 0); got != 0 {
		t.Errorf("%v µs/KB of nothing", got)
	}
}

func TestParseModel(t *testing.T) {
	tests := []struct{ text, want string }{
		{"processor\t: 0\nmodel name\t: Some(R) CPU @ 2 GHz\n", "Some(R) CPU @ 2 GHz"},
		{"processor\t: 0\ncpu\t\t: POWER8E (raw), altivec supported\n", "POWER8E (raw), altivec supported"},
		{"processor\t: 0\nisa : rv64\nuarch\t: sifive,u74\n", "sifive,u74"},
		{"processor\t: 0\nBogoMIPS\t: 50.00\n", ""},
		{"model name :\nmodel name : second\n", "second"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := parseModel(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
