// SPDX-License-Identifier: MIT

package path

import (
	"testing"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// TestPacketMute: the stack gets the datagrams too. It must neither answer that nobody
// wants them, nor keep them; and those for other ports stay its own.
func TestPacketMute(t *testing.T) {
	r := openPath(t, packetPath(), 64, unchanged)
	r.send(t, 0, 100)
	if got, want := r.collect(t), (stream.Tally{Received: 100}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
	if n := counted(t, r.pair.B, "Icmp:", "OutDestUnreachs"); n != 0 {
		t.Errorf("%d ICMP errors", n)
	}
	if n := counted(t, r.pair.B, "Udp:", "InErrors"); n != 100 {
		t.Errorf("the mute socket dropped %d datagrams, want 100", n)
	}
}
