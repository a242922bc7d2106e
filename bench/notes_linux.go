// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// notes are the sentences beneath the table: first how the test was done.
func notes(plan suite.Plan, doc report.Document, out referee.Outcome) []string {
	notes := plan.Test.Notes(plan, doc)
	notes = append(notes, warnings(doc.Env)...)
	notes = append(notes, out.Notes...)
	for _, f := range out.Skipped {
		if f.Run > 1 {
			notes = append(notes, fmt.Sprintf("%s: run %d failed and the row shows those before it: %s", f.Key, f.Run, f.Reason))
		}
	}
	return notes
}

// noisy is the share of a machine, in percent, beyond which whatever else runs
// on it shows in the figures.
const noisy = 5

// warnings tell what makes the figures doubtful.
func warnings(env report.Env) []string {
	var w []string
	for _, m := range []struct {
		name string
		busy float64
	}{{"machine", env.BusyBefore}, {"other machine", env.PeerBusy}} {
		if m.busy > noisy {
			w = append(w, fmt.Sprintf("WARNING: the %s was %.0f %% busy with other things before the bench began: expect worse and less steady figures.", m.name, m.busy))
		}
	}
	s, r := env.Sender, env.Receiver
	if s.Machine == r.Machine && slices.Equal(s.Pinned, r.Pinned) {
		w = append(w, "WARNING: sender and receiver share one processor.")
	}
	return w
}
