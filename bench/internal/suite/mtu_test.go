// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"slices"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// TestMTURows has the MTUs of a path below each other.
func TestMTURows(t *testing.T) {
	rows := mtuRows(Common{Paths: []string{"socket", "xdp"}, Sizes: []int{64, 512}, MTUs: []int{1500, 8000}, Batch: 64})
	var got []string
	for _, r := range rows {
		got = append(got, Key(r).String())
		if r.Param != mtuParam(r.MTU) || r.Batch != 64 {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"socket, 64 bytes, mtu=1500", "socket, 64 bytes, mtu=8000", "xdp, 64 bytes, mtu=1500", "xdp, 64 bytes, mtu=8000",
		"socket, 512 bytes, mtu=1500", "socket, 512 bytes, mtu=8000", "xdp, 512 bytes, mtu=1500", "xdp, 512 bytes, mtu=8000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// mtuResult is a run of a second, in which so many messages were sent.
func mtuResult(path, mode string, size, mtu, run int, sent uint64) report.Result {
	r := result(path, mode, size, run, float64(sent))
	r.Test, r.MTU, r.Param = "mtu", mtu, mtuParam(mtu)
	r.Sent, r.Received, r.Lost = sent, sent-sent/8, sent/8
	r.Loss = loss.Split{loss.Socket: sent/8 - 2, loss.Send: 2}
	r.TXRoom, r.RXRoom, r.TXSeconds, r.RXSeconds = 3407872, 8388608, 1, 0.875
	r.TXCPUUtil, r.RXCPUUtil, r.TXDemand, r.RXDemand = 99.6, 99.6, 12.3456, 11.1
	r.RXPPS = float64(r.Received) / r.Seconds
	return r
}

// TestMTUTable compares each MTU with the first that ran, and shows of each row the
// run in the middle.
func TestMTUTable(t *testing.T) {
	var doc report.Document
	for run, f := range []uint64{90, 100, 80} {
		doc.Results = append(doc.Results,
			mtuResult("socket", "-", 64, 1500, run+1, 8000*f),
			mtuResult("socket", "-", 64, 8000, run+1, 4000*f),
			mtuResult("xdp", "native copy", 64, 8000, run+1, 16000*f),
			mtuResult("xdp", "native zero-copy", 512, 1500, run+1, 12000*f),
		)
	}
	doc.Env.Skipped = []report.Skip{{Key: report.Key{Path: "xdp", Size: 64, Param: "mtu=1500"}, Reason: "no such luck"}}
	rows := mtuRows(Common{Paths: []string{"socket", "xdp"}, Sizes: []int{64}, MTUs: []int{1500, 8000}})
	doc.Env.Rows = append(Plan{Rows: rows}.Keys(), report.Key{Path: "xdp", Size: 512, Param: "mtu=1500"})
	var got bytes.Buffer
	if err := report.WriteTable(&got, mtuColumns(), report.Rows(doc), []string{"A note."}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/mtu.txt", got.Bytes())
}
