// SPDX-License-Identifier: MIT

package iperf

import (
	"math"
	"testing"
	"time"
)

var epoch = time.Unix(1_700_000_000, 0)

// account counts datagrams of 1000 bytes that were sent and arrived 10 ms apart.
func account(numbers ...int64) Report {
	var c Counter
	for i, n := range numbers {
		at := epoch.Add(time.Duration(i) * 10 * time.Millisecond)
		c.Add(Header{n, at}, 1000, at.Add(time.Hour))
	}
	return c.Report()
}

// The third is what iperf 2.1.8 reported of the same numbers: bytes 12000, lost 1,
// out of order 2, datagrams 13.
func TestCounter(t *testing.T) {
	for _, c := range []struct {
		name                               string
		numbers                            []int64
		received, lost, reordered, highest int64
	}{
		{"nothing", nil, 0, 0, 0, 0},
		{"in order", []int64{1, 2, 3, -4}, 4, 0, 0, 4},
		{"4 late, 7 and 8 lost, 10 twice", []int64{1, 2, 3, 5, 4, 6, 9, 10, 10, 11, 12, -13}, 12, 1, 2, 13},
		{"first lost", []int64{3, 4}, 2, 2, 0, 4},
		{"from 0", []int64{0, 1, 2, -3}, 4, 0, 0, 3},
		{"all twice", []int64{1, 1, 2, 2}, 4, 0, 2, 2},
		{"last only", []int64{-5}, 1, 4, 0, 5},
		{"forged", []int64{math.MaxInt64, math.MinInt64, 1}, 3, math.MaxInt64 - 3, 2, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := account(c.numbers...)
			want := Report{Bytes: c.received * 1000, Lost: c.lost, Reordered: c.reordered, Datagrams: c.highest}
			want.Duration = time.Duration(max(len(c.numbers)-1, 0)) * 10 * time.Millisecond
			if r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		})
	}
}

// Jitter is about the way's time changing, whatever the clocks say.
func TestJitter(t *testing.T) {
	var c Counter
	way := []time.Duration{0, 16 * time.Millisecond, 16 * time.Millisecond, 0}
	for i, w := range way {
		at := epoch.Add(time.Duration(i) * time.Second)
		c.Add(Header{int64(i + 1), at}, 100, at.Add(w-3*time.Hour))
	}
	// 1/16 of 16 ms; 15/16 of that; and 15/16 of that plus 1 ms.
	want := time.Millisecond * (15*15 + 256) / 256
	if got := c.Report().Jitter; (got - want).Abs() > time.Microsecond {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSince(t *testing.T) {
	a := Report{1000, time.Second, 10, 2, 0, 5}
	b := Report{3000, 3 * time.Second, 30, 1, 4, 6} // of the two lost, one was late
	if got, want := b.Since(a), (Report{2000, 2 * time.Second, 20, 0, 4, 6}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The lines are those that iperf 2.1.8 printed of the same numbers, but for its
// number of the test, and that it has no "100".
func TestLines(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ got, want string }{
		{SenderLine(1, 0, 2*s+400*time.Microsecond, 8921*1470), "[  1] 0.0000-2.0004 sec  12.5 MBytes  52.4 Mbits/sec"},
		{ReceiverLine(1, 0, s, Report{Bytes: 4452 * 1470, Datagrams: 4452, Jitter: 1400}), "[  1] 0.0000-1.0000 sec  6.24 MBytes  52.4 Mbits/sec   0.001 ms 0/4452 (0%)"},
		{ReceiverLine(1, 0, 114800*time.Microsecond, Report{Bytes: 12000, Datagrams: 13, Lost: 1, Jitter: 12000}), "[  1] 0.0000-0.1148 sec  11.7 KBytes   836 Kbits/sec   0.012 ms 1/13 (7.7%)"},
		{ReorderedLine(1, 0, 114800*time.Microsecond, Report{Reordered: 2}), "[  1] 0.0000-0.1148 sec  2 datagrams received out-of-order"},
		{ReceiverLine(12, s, 2*s, Report{Datagrams: 2000, Lost: 1999}), "[ 12] 1.0000-2.0000 sec  0.00 Bytes  0.00 bits/sec   0.000 ms 1999/2000 (100%)"},
		{ReceiverLine(1, s, s, Report{Bytes: 999}), "[  1] 1.0000-1.0000 sec   999 Bytes  0.00 bits/sec   0.000 ms 0/0 (0%)"},
		{SenderLine(1, 0, s, 1<<40), "[  1] 0.0000-1.0000 sec  1.00 TBytes  8.80 Tbits/sec"},
		{SenderLine(1, 0, s, 125*999700), "[  1] 0.0000-1.0000 sec   119 MBytes  1.00 Gbits/sec"},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func TestCounterDoesNotAllocate(t *testing.T) {
	var c Counter
	b := make([]byte, 1470)
	if n := testing.AllocsPerRun(100, func() {
		Header{5, epoch}.Put(b)
		h, _ := ParseHeader(b)
		c.Add(h, len(b), epoch)
	}); n != 0 {
		t.Errorf("%v allocations a datagram", n)
	}
}
