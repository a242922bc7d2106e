// SPDX-License-Identifier: MIT

package bpf

import (
	"net/netip"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
)

// The loopback interface has a zero MAC address and no native XDP, but generic.
func TestLoopback(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: "lo"})
		if err != nil {
			return err
		}
		to := netip.MustParseAddrPort("127.0.0.1:5000")
		kernel := listen(t, &pair.B, to)
		send(t, dial(t, &pair.B, to), 3)
		eventually(t, "the kernel gets all", func() bool { return kernel.got.Load() == 3 })
		if c := counters(t, p); p.Info().Mode != Generic || c.NoFilter != 3 || c.OtherMAC != 0 {
			t.Errorf("mode %v, %+v", p.Info().Mode, c)
		}
		return p.Close()
	})
}
