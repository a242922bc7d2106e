// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
)

// TestMTUEndToEnd sends small messages at both MTUs for a moment, over the paths that
// compare by default.
func TestMTUEndToEnd(t *testing.T) {
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	if status := run(strings.Fields("mtu -duration 50ms -runs 1 -json "+file), &stdout, &stderr); status != exitOK || stderr.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	t.Log("\n" + stdout.String())
	doc := read(t, file)
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
