// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// drive runs a pacer for a time, with wake-ups that are late by up to a jitter, and
// returns how many were sent and the largest batch.
func drive(p *pacer, d, late time.Duration) (sent, largest int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for since := time.Duration(0); since < d; {
		n := p.due(since)
		p.sent += int64(n)
		sent, largest = sent+n, max(largest, n)
		since += max(p.next(since), period)
		if late > 0 {
			since += time.Duration(rng.Int64N(int64(late)))
		}
	}
	return sent, largest
}

func TestPacer(t *testing.T) {
	for _, c := range []struct {
		name    string
		rate    string
		size    int
		late    time.Duration
		largest int
	}{
		{"50 Mb/s", "50m", 1470, 0, 5},
		{"50 Mb/s, late", "50m", 1470, 3 * time.Millisecond, 20},
		{"one a second", "11760", 1470, time.Millisecond, 1},
		{"1 Gb/s", "1g", 1470, 100 * time.Microsecond, 340},
		{"10 Mb/s in small ones", "10m", 20, time.Millisecond, 250},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r rate
			if err := r.UnmarshalText([]byte(c.rate)); err != nil {
				t.Fatal(err)
			}
			const d = 10 * time.Second
			sent, largest := drive(newPacer(r.gap(c.size)), d, c.late)
			want := float64(r) / 8 / float64(c.size) * d.Seconds()
			if off := math.Abs(float64(sent) - want); off > float64(c.largest)+1 {
				t.Errorf("sent %d, want %.0f", sent, want)
			}
			if largest > c.largest {
				t.Errorf("a batch of %d, at most %d", largest, c.largest)
			}
		})
	}
}

// After a stall it catches up, but in no greater batches than allowed.
func TestPacerCatchesUp(t *testing.T) {
	p := newPacer(100_000) // ten a period
	p.sent += int64(p.due(0))
	since := time.Second
	for range 10_000/30 + 1 {
		n := p.due(since)
		if n > 40 {
			t.Fatalf("a batch of %d", n)
		}
		p.sent += int64(n)
		since += period
	}
	if behind := int64(since/100_000) - p.sent; behind > 10 {
		t.Errorf("still %d behind", behind)
	}
}

// The ends of what flags allow.
func TestPacerExtremes(t *testing.T) {
	fast := newPacer(rate(1e15).gap(20))
	if n := fast.due(time.Hour); n != most {
		t.Errorf("%d are due", n)
	}
	slow := newPacer(rate(1e-300).gap(1470))
	if n := slow.due(0); n != 1 {
		t.Errorf("%d are due", n)
	}
	slow.sent = 100
	if n, next := slow.due(time.Hour), slow.next(time.Hour); n != 0 || next < 24*time.Hour {
		t.Errorf("%d are due, next in %v", n, next)
	}
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
		back string
	}{
		{"50m", 50e6, "50m"}, {"1.5g", 1.5e9, "1.5g"}, {"64k", 64e3, "64k"}, {"500", 500, "500"},
		{"50M", 50 << 20, "52.4288m"}, {"2K", 2048, "2.048k"}, {"1G", 1 << 30, "1.073741824g"}, {"0", 0, "0"},
	} {
		var r rate
		if err := r.UnmarshalText([]byte(c.text)); err != nil || float64(r) != c.want || r.String() != c.back {
			t.Errorf("%q: %v, %v, %v", c.text, float64(r), r, err)
		}
	}
	for _, text := range []string{"", "m", "fast", "-5m", "NaN", "Inf", "1e30g", "5mm", "50 m"} {
		var r rate
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, r)
		}
	}
}

// What a rate is printed as is read as the same.
func FuzzRate(f *testing.F) {
	f.Add("50m")
	f.Add("1.25G")
	f.Fuzz(func(t *testing.T, text string) {
		var r, again rate
		if r.UnmarshalText([]byte(text)) != nil {
			return
		}
		b, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalText(b); err != nil || math.Abs(float64(again-r)) > float64(r)*1e-12 {
			t.Fatalf("%q: %v is read as %v, %v", text, r, again, err)
		}
	})
}

func TestCheck(t *testing.T) {
	good := settings{"eth0", 0, netip.MustParseAddrPort("10.9.0.2:5001"), 50e6, 1470, time.Second}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*settings){
		"-to":     func(s *settings) { s.to = netip.AddrPort{} },
		"-to: ":   func(s *settings) { s.to = netip.MustParseAddrPort("0.0.0.0:5001") },
		"-to: th": func(s *settings) { s.to = netip.MustParseAddrPort("10.9.0.2:0") },
		"-b 0":    func(s *settings) { s.rate = 0 },
		"-l 19":   func(s *settings) { s.size = 19 },
		"-t -1ns": func(s *settings) { s.time = -1 },
	} {
		s := good
		change(&s)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}
