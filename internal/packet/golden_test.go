// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// goldens are the flows whose frames testdata holds. Each file is the hex dump
// of one frame, the headers on lines of their own.
func goldens() map[string]packet.Config {
	all := map[string]packet.Config{
		"ipv4":         flow4(),
		"ipv6":         flow6(),
		"ipv4-vlan100": tagged(flow4(), 100),
		"ipv6-vlan100": tagged(flow6(), 0xa064),
	}
	none := flow4()
	none.Checksum, none.TTL, none.TOS = packet.Omit, 1, 0xb9
	all["ipv4-omit"] = none
	offload := flow6()
	offload.Checksum = packet.Offload
	all["ipv6-offload"] = offload
	return all
}

// The bytes are the same on every machine, whatever its word size and order.
func TestGoldenFrames(t *testing.T) {
	payload := []byte("golden payload, odd")
	for name, cfg := range goldens() {
		frame := put(t, cfg, payload)
		path := filepath.Join("testdata", name+".hex")
		if *update {
			if err := os.WriteFile(path, []byte(dump(frame, cfg)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if !bytes.Equal(frame, golden) {
			t.Errorf("%s:\ngot  % x\nwant % x", path, frame, golden)
		}
		if got := mustParse(t, golden); got != want(cfg, golden) {
			t.Errorf("%s:\n%s", path, diff(want(cfg, golden), got))
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.hex"))
	if err != nil || len(files) != len(goldens()) {
		t.Errorf("%d golden files for %d flows (%v)", len(files), len(goldens()), err)
	}
}

// dump writes Ethernet header, tag, IP header, UDP header and payload as a line
// each.
func dump(frame []byte, cfg packet.Config) string {
	n := headerLen(cfg)
	cuts := []int{0, 14}
	if cfg.Tagged {
		// The Ethernet type of the tag ends line one; the tag is the next four.
		cuts = append(cuts, 18)
	}
	cuts = append(cuts, n-8, n, len(frame))
	var b strings.Builder
	for i := 1; i < len(cuts); i++ {
		line := hex.EncodeToString(frame[cuts[i-1]:cuts[i]])
		for j := 0; j < len(line); j += 4 {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(line[j:min(j+4, len(line))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
