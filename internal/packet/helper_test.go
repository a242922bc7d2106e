// SPDX-License-Identifier: MIT

package packet_test

import (
	"net/netip"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/internal/packet"
)

// diff tells in which fields two values differ, or nothing.
func diff(want, got packet.UDP) string {
	same := cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })
	return cmp.Diff(want, got, same)
}
