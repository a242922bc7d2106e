// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// TestZeroCopyRefused wants a reason for the row of a path that a veth cannot have.
func TestZeroCopyRefused(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	tx, _ := configs(pair, 64)
	for _, k := range []Kind{Stream, Trips} {
		p, err := Find("xdp-zerocopy", k)
		if err != nil {
			t.Fatal(err)
		}
		err = pair.A.NS.Do(func() error {
			end, err := p.Open(k, true, tx)
			return fails(end, err)
		})
		if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "veth") {
			t.Errorf("%s: error %v", k, err)
		}
	}
}
