// SPDX-License-Identifier: MIT

package udp

import (
	"testing"

	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/xsk"
)

// No loss is without a name in the line.
func TestStatsString(t *testing.T) {
	s := Stats{
		FastRx: 1, KernelRx: 2, FastTx: 3, KernelTx: 4,
		Sockets:     []xsk.Stats{{RxDropped: 10, TxLost: 1}, {RxRingFull: 5, TxLost: 2}},
		Kernel:      lane.Stats{KernelDrops: 6},
		BadChecksum: 7, Malformed: map[string]uint64{"a": 3, "b": 5}, OtherSource: 9, TxRefused: 11,
	}
	want := "received 1 fast, 2 kernel; sent 3 fast, 4 kernel; " +
		"lost: ring 15, socket 6, bad checksum 7, malformed 8, other source 9; sending: device 3, MTU 11"
	if got := s.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
