// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/loss"
)

// TestCameraEndToEnd sends small images for a moment over all paths, at both MTUs.
func TestCameraEndToEnd(t *testing.T) {
	doc, _ := measure(t, "camera -size 320x240 -rate 100 -images 5 -runs 1")
	if want := 4 * 2; len(doc.Results) != want || len(doc.Env.Skipped) > 0 {
		t.Errorf("%d results, want %d, did not run: %+v", len(doc.Results), want, doc.Env.Skipped)
	}
	for _, r := range doc.Results {
		balance(t, doc, r)
		if r.Test != "camera" || r.Param != fmt.Sprintf("mtu=%d", r.MTU) || r.Size != r.MTU-28 {
			t.Errorf("%+v", r)
		}
		packets := uint64((320*240 + r.Size - 21) / (r.Size - 20))
		if r.ImagesSent == 0 || r.ImagesSent > 5 || r.Sent != r.ImagesSent*packets || r.ImagesComplete > r.ImagesSent {
			t.Errorf("%d images in %d packets of %d bytes, %d complete", r.ImagesSent, r.Sent, r.Size, r.ImagesComplete)
		}
		if r.Lost == 0 && r.ImagesComplete != r.ImagesSent || r.Loss[loss.Unaccounted] > 0 {
			t.Errorf("nothing is missing, or nobody knows why: %+v", r)
		}
	}
}
