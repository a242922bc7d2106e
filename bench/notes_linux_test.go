// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// TestDoubts has whatever makes a comparison unfair, or a figure say less than it
// seems to, and then nothing of that.
func TestDoubts(t *testing.T) {
	var plan suite.Plan
	plan.Test, _ = suite.Find("stream")
	key := report.Key{Path: "mmsg", Size: 64}
	run := report.Result{Path: "mmsg", Size: 64, Sent: 1000, Received: 1000, Use: &report.Use{Steal: 2.5}}
	doc := report.Document{Results: []report.Result{run}, Env: report.Env{
		Rows: []report.Key{key}, BusyBefore: 40, PeerBusy: 30, Buffers: []report.Buffer{{Key: key, Asked: 4000, Got: 2000}},
		Sender: control.Facts{Machine: "a", Pinned: []int{1}}, Receiver: control.Facts{Machine: "a", Pinned: []int{1}},
	}}
	got := strings.Join(append(warnings(doc.Env), doubts(plan, doc)...), "\n")
	for _, want := range []string{
		"the machine was 40 % busy", "the other machine was 30 % busy", "share one processor",
		"The sender was the limit, and the receiver could perhaps take more: mmsg, 64 bytes.",
		"a hypervisor took processor time from these: mmsg, 64 bytes (2.5 %).",
		"mmsg, 64 bytes: the receive buffer has 2000 bytes of the 4000",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	doc.Results[0].Received, doc.Results[0].Lost = 500, 500
	doc.Results[0].Use = &report.Use{}
	doc.Env.BusyBefore, doc.Env.PeerBusy, doc.Env.Buffers = 0, 0, nil
	doc.Env.Receiver.Pinned = []int{0}
	if got := append(warnings(doc.Env), doubts(plan, doc)...); len(got) > 0 {
		t.Errorf("doubts without reason: %q", got)
	}
}
