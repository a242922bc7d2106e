// SPDX-License-Identifier: MIT

package xsk

import (
	"testing"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestTraffic sends between two sockets over a veth pair, in both attach modes.
func TestTraffic(t *testing.T) {
	for _, mode := range []bpf.Mode{bpf.Native, bpf.Generic} {
		t.Run(mode.String(), func(t *testing.T) {
			testnet.Leaks(t)
			pair := testnet.TestPair(t, testnet.Config{})
			rx := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
			tx := openIn(t, pair.A.NS, Config{Interface: pair.A.Name})
			redirect(t, pair.B, bpf.Config{Mode: mode}, rx)
			if rx.Info().Mode != Copy || tx.Info().Mode != Copy {
				t.Errorf("modes %v and %v on veth", rx.Info().Mode, tx.Info().Mode)
			}
			tp := template(t, pair.A, pair.B)
			for round := range 5 {
				var packets [][]byte
				for i := range 300 {
					packets = append(packets, datagram(&tp, uint64(round*300+i), 8+(i*37)%1464))
				}
				send(t, tx, 64, packets...)
				for i, seq := range collect(t, rx, len(packets)) {
					if want := uint64(round*300 + i); seq != want {
						t.Fatalf("datagram %d came as number %d", seq, want)
					}
				}
			}
			st, err := rx.Stats()
			if err != nil || st.RxFrames != 1500 || st.RxLost() != 0 || st.Invalid != 0 {
				t.Errorf("%v %+v", err, st)
			}
			if err := tx.Drain(within(t, 1e9)); err != nil {
				t.Error(err)
			}
			if st, _ := tx.Stats(); st.TxCompleted != 1500 || st.TxLost != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
