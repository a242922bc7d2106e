// SPDX-License-Identifier: MIT

package path

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/loss"
)

// TestBursts sends bursts to receivers that do not look meanwhile, by rings of several
// sizes. A ring that is as large as the burst loses nothing; of one that is smaller the
// counters name the ring, and have the rest to a datagram (case 118).
func TestBursts(t *testing.T) {
	for _, name := range []string{"socket", "packet", "xdp", "xdp-raw"} {
		p, err := Find(name, Stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, ring := range []int{64, 256, 1024, 4096} {
			t.Run(fmt.Sprintf("%s/ring=%d", name, ring), func(t *testing.T) {
				r := openPath(t, p, 64, func(tx, rx *Config) { rx.Hold, tx.Hold = ring, 4096 })
				var seq uint64
				for _, burst := range []uint64{100, 1000, 3000} {
					before := drops(t, r)
					r.send(t, seq, burst)
					seq += burst
					got := r.collect(t).Received
					lost := drops(t, r) - before
					if got+lost != burst || uint64(ring) >= burst && lost > 0 {
						t.Errorf("burst of %d: %d came and %d are counted as lost", burst, got, lost)
					}
				}
			})
		}
	}
}

// drops are what the receiver counts as lost for want of room.
func drops(t *testing.T, r *rig) uint64 {
	t.Helper()
	counts, err := r.rx.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return counts.Get(loss.RXRing) + counts.Get(loss.FillRing) + counts.Get(loss.Socket)
}

// TestFillSmaller: a fill ring that is smaller than the RX ring is the limit, and named.
func TestFillSmaller(t *testing.T) {
	r := openPath(t, xdpPath(), 64, func(tx, rx *Config) { rx.RX, rx.Fill = 4096, 256 })
	r.send(t, 0, 1000)
	got := r.collect(t).Received
	counts, err := r.rx.Counters()
	if err != nil {
		t.Fatal(err)
	}
	if got+counts.Get(loss.FillRing) != 1000 || counts.Get(loss.RXRing) != 0 || got > 512 {
		t.Errorf("received %d, counters %+v", got, counts)
	}
}
