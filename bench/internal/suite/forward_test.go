// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// ways are the sides of a run in which both sent and received so many.
func ways(aSent, aGot, cSent, cGot uint64) (tx, rx report.Side) {
	tx.Totals = control.Totals{Sent: aSent, Elapsed: time.Second}
	rx.Totals = control.Totals{Sent: cSent, Elapsed: 800 * time.Millisecond}
	tx.Totals.Tally.Received, rx.Totals.Tally.Received = aGot, cGot
	return tx, rx
}

func TestCountWays(t *testing.T) {
	tx, rx := ways(3_000_000, 1_500_000, 2_000_000, 2_400_000)
	r, err := countWays(control.Prepare{}, tx, rx)
	want := [2]report.Way{{Sent: 3_000_000, Received: 2_400_000, Lost: 600_000, RXPPS: 2.4e6}, {Sent: 2_000_000, Received: 1_500_000, Lost: 500_000, RXPPS: 1.5e6}}
	if err != nil || r.Sent != 5_000_000 || r.Received != 3_900_000 || r.Seconds != 1 || *r.Ways != want {
		t.Errorf("%+v, %v", r, err)
	}
	tx, rx = ways(10, 0, 10, 11)
	if _, err := countWays(control.Prepare{}, tx, rx); err == nil {
		t.Error("more came than was sent, and nobody minds")
	}
}

func TestForwardTable(t *testing.T) {
	var doc report.Document
	for _, path := range []string{"kernel", "xdp"} {
		r := result(path, map[string]string{"kernel": "-", "xdp": "native zero-copy"}[path], 1472, 1, 9_876_543)
		r.Ways = &[2]report.Way{{Sent: 100, Received: 90, Lost: 10, RXPPS: 4_000_000}, {Sent: 100, Received: 100, RXPPS: 5_876_543}}
		doc.Results = append(doc.Results, r)
	}
	doc.Env.Rows = rows([]string{"kernel", "xdp"}, 1472)
	var got bytes.Buffer
	if err := report.WriteTable(&got, forwardColumns(), report.Rows(doc), []string{"A note."}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/forward.txt", got.Bytes())
}
