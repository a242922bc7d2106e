// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// notes are the sentences beneath the table: first how the test was done.
func notes(plan suite.Plan, doc report.Document, out referee.Outcome) []string {
	notes := plan.Test.Notes(plan, doc)
	notes = append(notes, warnings(doc.Env)...)
	notes = append(notes, doubts(plan, doc)...)
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

// stolen is the share of a machine, in percent, beyond which what its hypervisor takes
// shows, and lostLittle the share of datagrams below which a receiver lost nothing that
// matters.
const (
	stolen     = 1
	lostLittle = 0.1
)

// doubts tell which rows do not compare, or do not say what they seem to.
func doubts(plan suite.Plan, doc report.Document) []string {
	var senders, thieves []string
	for _, row := range report.Rows(doc) {
		if !row.HasUse() {
			continue
		}
		m := row.Median()
		if plan.Test.Kind == path.Stream && m.LostPercent() < lostLittle {
			senders = append(senders, row.String())
		}
		if m.Use.Steal > stolen {
			thieves = append(thieves, fmt.Sprintf("%s (%.1f %%)", row, m.Use.Steal))
		}
	}
	var notes []string
	if senders != nil {
		notes = append(notes, "The sender was the limit, and the receiver could perhaps take more: "+strings.Join(senders, "; ")+".")
	}
	if thieves != nil {
		notes = append(notes, "WARNING: a hypervisor took processor time from these: "+strings.Join(thieves, "; ")+".")
	}
	for _, b := range doc.Env.Buffers {
		if b.Got < b.Asked {
			notes = append(notes, fmt.Sprintf("WARNING: %s: the receive buffer has %d bytes of the %d that hold as much as the rings of the AF_XDP paths: no fair comparison.", b.Key, b.Got, b.Asked))
		}
	}
	return notes
}
