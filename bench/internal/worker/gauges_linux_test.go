// SPDX-License-Identifier: MIT

package worker

import (
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
)

func TestParseNeighbours(t *testing.T) {
	const text = `entries  allocs   res_failed unresolved_discards table_fulls
00000007 0000637a 0000000b 000458f5            00000000
00000007 00000001 00000001 00000001            00000000
`
	if packets, neighbours := parseNeighbours(text); packets != 0x458f6 || neighbours != 12 {
		t.Errorf("%d packets, %d neighbours", packets, neighbours)
	}
	for _, odd := range []string{"", "entries\n1\n", "res_failed\n\n", "res_failed\nx\n"} {
		if packets, neighbours := parseNeighbours(odd); packets != 0 || neighbours != 0 {
			t.Errorf("%q: %d packets, %d neighbours", odd, packets, neighbours)
		}
	}
}

// TestCarrierDowns counts how often a link goes down.
func TestCarrierDowns(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	downs := func() (n uint64) {
		t.Helper()
		err := pair.A.NS.Do(func() (err error) {
			n, err = carrierDowns(pair.A.Index)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := downs()
	for _, up := range []bool{false, true, false, true} {
		if err := pair.B.SetUp(up); err != nil {
			t.Fatal(err)
		}
	}
	if err := pair.A.WaitUp(); err != nil {
		t.Fatal(err)
	}
	if n := downs() - before; n != 2 {
		t.Errorf("%d times down, want 2", n)
	}
}
