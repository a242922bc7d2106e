// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

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
	good := settings{"eth0", 0, netip.MustParseAddrPort("10.9.0.2:5001"), 50e6, 1470, time.Second, false}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*settings){
		"-to":       func(s *settings) { s.to = netip.AddrPort{} },
		"-to: ":     func(s *settings) { s.to = netip.MustParseAddrPort("0.0.0.0:5001") },
		"-to: th":   func(s *settings) { s.to = netip.MustParseAddrPort("10.9.0.2:0") },
		"-b 0":      func(s *settings) { s.rate = 0 },
		"-b 0.01":   func(s *settings) { s.rate = 0.01 }, // a datagram in two weeks
		"-b 1e+06g": func(s *settings) { s.rate = 1e15 }, // several in a nanosecond
		"-l 19":     func(s *settings) { s.size = 19 },
		"-t -1ns":   func(s *settings) { s.time = -1 },
	} {
		s := good
		change(&s)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}
