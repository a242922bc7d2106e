// SPDX-License-Identifier: MIT

package suite

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// cameraPlan is what some flags make of a plan.
func cameraPlan(args string) (Plan, error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	rows := cameraRows(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		return Plan{}, err
	}
	p := Plan{Duration: time.Second, Warmup: 200 * time.Millisecond}
	err := rows(&p, Common{Paths: []string{"mmsg", "xdp"}, MTUs: []int{1500, 8000}, Batch: 64})
	return p, err
}

func TestCameraRows(t *testing.T) {
	p, err := cameraPlan("")
	if err != nil {
		t.Fatal(err)
	}
	want := []control.Row{
		{Path: "mmsg", Size: 1472, Param: "mtu=1500", Batch: 64, MTU: 1500, Image: 1310720, Rate: 50},
		{Path: "xdp", Size: 1472, Param: "mtu=1500", Batch: 64, MTU: 1500, Image: 1310720, Rate: 50},
		{Path: "mmsg", Size: 7972, Param: "mtu=8000", Batch: 64, MTU: 8000, Image: 1310720, Rate: 50},
		{Path: "xdp", Size: 7972, Param: "mtu=8000", Batch: 64, MTU: 8000, Image: 1310720, Rate: 50},
	}
	for i, r := range p.Rows {
		if len(p.Rows) != len(want) || r != want[i] {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if p.Duration != time.Second {
		t.Errorf("%v", p.Duration)
	}
}

func TestCameraFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-size 64x48 -rate 0.5", ""},
		{"-images 100 -rate 1000", ""},
		{"-size 64", "-size 64: must be as 1280x1024"},
		{"-size 64x", "must be as"},
		{"-size 0x64", "must be as"},
		{"-size 64x-1", "must be as"},
		{"-size 9223372036854775807x9223372036854775807", "bytes at most"},
		{"-size 65536x65536", "bytes at most"},
		{"-rate 0", "-rate 0: must be above 0"},
		{"-rate -1", "-rate -1"},
		{"-rate NaN", "-rate NaN"},
		{"-rate Inf", "-rate +Inf"},
		{"-images -1", "-images -1: must not be negative"},
		{"-images 1000000", "more than 10m0s"},
	} {
		_, err := cameraPlan(tt.args)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q in it", tt.args, err, tt.want)
		}
	}
}

// TestCameraImages makes runs as long as so many images take.
func TestCameraImages(t *testing.T) {
	if p, err := cameraPlan("-images 7 -rate 50"); err != nil || p.Duration != 140*time.Millisecond || p.Warmup != p.Duration {
		t.Errorf("%v: %v after %v", err, p.Duration, p.Warmup)
	}
}

// shot is a run of a camera, a second long.
func shot(path, mode string, mtu, run int, demand float64) report.Result {
	shape := camera.Shape{Image: 1310720, Size: mtu - headers}
	sent := uint64(50 * shape.Packets())
	return report.Result{
		Test: camera.Name, Path: path, Mode: mode, Size: shape.Size, Param: mtuParam(mtu), MTU: mtu, Run: run, Batch: 64, Seconds: 1,
		Sent: sent, Received: sent, RXPPS: float64(sent), GoodputBPS: 8 * float64(sent) * float64(shape.Size), Loss: loss.Split{},
		ImagesSent: 50, ImagesComplete: 50, CPUUtil: demand, ServiceDemand: demand / 3,
	}
}

// TestCameraTable sums up what is counted in all runs, and shows the middle of what
// is measured.
func TestCameraTable(t *testing.T) {
	var doc report.Document
	for run, f := range []float64{1.1, 0.9, 1} {
		doc.Results = append(doc.Results,
			shot("mmsg", "-", 1500, run+1, 15*f),
			shot("xdp", "native copy", 1500, run+1, 9*f),
			shot("mmsg", "-", 8000, run+1, 7*f),
			shot("xdp", "native copy", 8000, run+1, 6*f),
		)
	}
	lossy := &doc.Results[4]
	lossy.Received -= 42
	lossy.Lost, lossy.Loss, lossy.ImagesComplete = 42, loss.Split{loss.Socket: 42}, 47
	doc.Env.Skipped = []report.Skip{{Key: report.Key{Path: "gso", Size: 1472, Param: "mtu=1500"}, Reason: "no such luck"}}
	var p Plan
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	if err := cameraRows(fs)(&p, Common{Paths: []string{"mmsg", "gso", "xdp"}, MTUs: []int{1500, 8000}}); err != nil {
		t.Fatal(err)
	}
	doc.Env.Rows = p.Keys()
	doc.Env.Link = "veth pair"
	var got bytes.Buffer
	if err := report.WriteTable(&got, cameraColumns(), report.Rows(doc), cameraNotes(p, doc)[:1]); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/camera.txt", got.Bytes())
}

// TestCountImages refuses more images than were sent.
func TestCountImages(t *testing.T) {
	tx, rx := report.Side{Totals: control.Totals{Sent: 9, Images: 3, Elapsed: time.Second}}, report.Side{Totals: control.Totals{Images: 2}}
	r, err := countImages(control.Prepare{}, tx, rx)
	if err != nil || r.ImagesSent != 3 || r.ImagesComplete != 2 {
		t.Errorf("%v: %+v", err, r)
	}
	rx.Totals.Images = 4
	if _, err := countImages(control.Prepare{}, tx, rx); err == nil {
		t.Error("4 of 3")
	}
}
