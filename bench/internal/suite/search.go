// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// A Search finds the highest rate at which no more than so much is lost: first as fast
// as the sender can, and then halfway between what was too much and what was not, as
// RFC 2544 has it.
type Search struct {
	limit     float64 // percent
	good, bad float64 // rates, datagrams a second
	tries     int
	done      bool
}

// Ends of a search: a step that is small beside the rate, or so many windows.
const (
	searchStep = 0.02
	searchMost = 12
	// offered is the least share of a rate that a sender must have sent for the window
	// to say anything of that rate.
	offered = 0.98
)

// NewSearch begins one, for a limit in percent of what is sent.
func NewSearch(limit float64) *Search { return &Search{limit: limit} }

// Next is the rate to try, 0 for as fast as it goes, and false if there is no more.
func (s *Search) Next() (rate float64, more bool) {
	switch {
	case s.tries == 0:
		return 0, true
	case s.done || s.tries == searchMost || s.bad-s.good <= searchStep*s.bad:
		return 0, false
	}
	return (s.good + s.bad) / 2, true
}

// Tried notes what came of a rate, and tells whether it is the best so far.
func (s *Search) Tried(rate float64, r report.Result) bool {
	s.tries++
	fine := r.LostPercent() <= s.limit && r.Sent > 0
	if rate == 0 {
		// Nothing can be above that.
		s.done, s.bad = fine, r.TXPPS
		if fine {
			s.good = r.TXPPS
		}
		return fine
	}
	if fine = fine && r.TXPPS >= offered*rate; fine {
		s.good = rate
	} else {
		s.bad = rate
	}
	return fine
}

// Err tells that no rate was good.
func (s *Search) Err() error {
	if s.good > 0 {
		return nil
	}
	return fmt.Errorf("even at %.0f datagrams a second more than %v %% were lost, or they could not be sent evenly", s.bad, s.limit)
}
