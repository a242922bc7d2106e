// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"testing"
)

// TestMTUEndToEnd sends small messages at both MTUs for a moment, over the paths that
// compare by default.
func TestMTUEndToEnd(t *testing.T) {
	doc, _ := measure(t, "mtu -duration 50ms -runs 1")
	if len(doc.Results) != 3*2*2 || len(doc.Env.Rows) != 3*2*2 {
		t.Errorf("%d results, %d rows, did not run: %+v", len(doc.Results), len(doc.Env.Rows), doc.Env.Skipped)
	}
	for _, r := range doc.Results {
		balance(t, doc, r)
		if r.Test != "mtu" || r.Param != fmt.Sprintf("mtu=%d", r.MTU) || r.MTU != 1500 && r.MTU != 8000 {
			t.Errorf("%+v", r)
		}
		if r.TXRoom < 4096*r.Size || r.RXRoom < 4096*r.Size {
			t.Errorf("%s: room for %d bytes to send and for %d received", r.Path, r.TXRoom, r.RXRoom)
		}
	}
}
