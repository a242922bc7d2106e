// SPDX-License-Identifier: MIT

package suite

import (
	"math"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// a link loses what is above its rate, and its sender sends no faster than most.
type link struct{ rate, most float64 }

func (l link) send(rate float64) report.Result {
	tx := l.most
	if rate > 0 {
		tx = min(rate, l.most)
	}
	got := min(tx, l.rate)
	return report.Result{TXPPS: tx, RXPPS: got, Sent: uint64(tx), Received: uint64(got), Lost: uint64(tx) - uint64(got), Offered: rate}
}

// TestSearch finds what each link can do, to the step that a search has.
func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		link        link
		limit, want float64
	}{
		{link{rate: 1e6, most: 5e5}, 0, 5e5}, // the sender is the limit
		{link{rate: 3e5, most: 1e6}, 0, 3e5},
		{link{rate: 1e4, most: 1e6}, 0, 1e4},
		{link{rate: 3e5, most: 1e6}, 50, 6e5},
		{link{rate: 999_999, most: 1e6}, 0.1, 1e6},
	} {
		s := NewSearch(tt.limit)
		var best report.Result
		tries := 0
		for rate, more := s.Next(); more; rate, more = s.Next() {
			tries++
			if r := tt.link.send(rate); s.Tried(rate, r) {
				if r.TXPPS < best.TXPPS || r.LostPercent() > tt.limit {
					t.Errorf("%+v: %+v is better than %+v", tt, r, best)
				}
				best = r
			}
		}
		if err := s.Err(); err != nil || tries > searchMost || math.Abs(best.TXPPS/tt.want-1) > 2*searchStep {
			t.Errorf("%+v: %v after %d windows, %v", tt, best.TXPPS, tries, err)
		}
	}
}

// TestSearchFails: a link that carries nothing without loss ends the search, with the
// reason.
func TestSearchFails(t *testing.T) {
	s, tries := NewSearch(0), 0
	for rate, more := s.Next(); more; rate, more = s.Next() {
		tries++
		r := link{most: 1e6}.send(rate)
		if s.Tried(rate, r) {
			t.Errorf("%v a second are fine: %+v", rate, r)
		}
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "even at") || tries != searchMost {
		t.Errorf("error %v after %d windows", err, tries)
	}
}

// TestSearchSlowSender: a window whose sender did not keep up says nothing for its rate.
func TestSearchSlowSender(t *testing.T) {
	s := NewSearch(0)
	s.Tried(0, link{rate: 1e5, most: 1e6}.send(0))
	if s.Tried(5e5, report.Result{TXPPS: 9e4, Sent: 90_000, Received: 90_000}) {
		t.Error("a rate is fine that was not sent")
	}
}

func TestRateRows(t *testing.T) {
	for args, want := range map[string]string{
		"-rates 1000,200000": "mmsg rate=1000,xdp rate=1000,mmsg rate=200000,xdp rate=200000",
		"-search 0,0.1":      "mmsg loss=0,xdp loss=0,mmsg loss=0.1,xdp loss=0.1",
	} {
		p, err := planned(t, rateTest(), common, args)
		if got := strings.Join(keysOf(p), ","); err != nil || got != want {
			t.Errorf("%s: %s, %v", args, got, err)
		}
		for _, r := range p.Rows {
			if r.Search != strings.HasPrefix(args, "-search") || r.Search == (r.Rate > 0) {
				t.Errorf("%s: %+v", args, r)
			}
		}
	}
	for args, want := range map[string]string{
		"-search most": `"most" must be a number`, "-search 100": `"100" must be`, "-rates 0": `"0" must be a number from 1`, "-search NaN": `"NaN"`,
	} {
		if _, err := planned(t, rateTest(), common, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", args, err, want)
		}
	}
}

// TestRateWarning names the rows whose sender was the limit, each once.
func TestRateWarning(t *testing.T) {
	slow := link{rate: 1e6, most: 9e5}.send(1e6)
	slow.Path, slow.Size, slow.Param = "mmsg", 64, "rate=1000000"
	fine := link{rate: 1e6, most: 1e6}.send(1e6)
	if got := belowOffer([]report.Result{slow, fine, slow}); len(got) != 1 || got[0] != "mmsg, 64 bytes, rate=1000000" {
		t.Errorf("%q", got)
	}
}
