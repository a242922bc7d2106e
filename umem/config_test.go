// SPDX-License-Identifier: MIT

package umem

import (
	"fmt"
	"strings"
	"testing"
)

// Cases 20 and 41: the kernel's rules, checked before it is asked.
func TestConfigRules(t *testing.T) {
	const page = 4096
	for _, c := range []struct {
		cfg  Config
		want string // part of the error; empty: accepted
	}{
		{Config{}, ""},
		{Config{ChunkSize: 2048, Headroom: 1344}, ""},
		{Config{ChunkSize: 4096, Headroom: 3392}, ""},
		{Config{ChunkSize: 1024}, "ChunkSize 1024: must be a power of two from 2048 to the page size, 4096"},
		{Config{ChunkSize: 3000}, "ChunkSize 3000"},
		{Config{ChunkSize: 8192}, "ChunkSize 8192"},
		{Config{ChunkSize: -2048}, "ChunkSize -2048"},
		{Config{Headroom: 1345}, "Headroom 1345: must be from 0 to 1344"},
		{Config{ChunkSize: 4096, Headroom: 3393}, "Headroom 3393: must be from 0 to 3392"},
		{Config{Headroom: -1}, "Headroom -1"},
		{Config{Chunks: -1}, "Chunks -1"},
		{Config{Chunks: maxInt}, "more than this machine can address"},
		{Config{Huge: 7}, "Huge 7"},
		{Config{Memory: make([]byte, 100)}, "Memory of 100 bytes"},
		{Config{Memory: []byte{}}, "Chunks 0"},
	} {
		err := c.cfg.withDefaults().validate(page)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	// All that is wrong is said at once, in a fixed order.
	err := Config{ChunkSize: 100, Chunks: -5, Huge: 9}.validate(page)
	if got := strings.Count(fmt.Sprint(err), "umem: config:"); got != 3 {
		t.Errorf("%d of 3 faults named: %v", got, err)
	}
	// A 64 KiB page allows chunks that hold a jumbo frame.
	if err := (Config{ChunkSize: 65536}).withDefaults().validate(65536); err != nil {
		t.Error(err)
	}
}
