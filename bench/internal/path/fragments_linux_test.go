// SPDX-License-Identifier: MIT

package path

import (
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

func TestFragments(t *testing.T) {
	for _, tt := range []struct{ size, mtu, want int }{
		{1472, 1500, 1}, {1473, 1500, 2}, {2952, 1500, 2}, {2953, 1500, 3}, {32768, 1500, 23}, {47104, 1500, 32}, {8972, 9000, 1}, {47104, 9000, 6},
	} {
		if got := fragments(Config{Size: tt.size, MTU: tt.mtu}); got != tt.want {
			t.Errorf("%d bytes at MTU %d: %d fragments, want %d", tt.size, tt.mtu, got, tt.want)
		}
	}
}

// TestPathsFragments sends datagrams over the MTU, by the paths that take such, and wants
// every byte. The others say why not.
func TestPathsFragments(t *testing.T) {
	for _, p := range paths(Stream) {
		for _, tt := range []struct{ size, mtu int }{{1473, 1500}, {32768, 1500}, {47104, 1500}, {47104, 9000}} {
			t.Run(p.Name+"/"+itoa(tt.size)+"/mtu="+itoa(tt.mtu), func(t *testing.T) {
				whole := p
				whole.Sender = func(cfg Config) (Sender, error) { end, err := p.Open(Stream, true, cfg); return as[Sender](end), err }
				whole.Receiver = func(cfg Config) (Receiver, error) {
					end, err := p.Open(Stream, false, cfg)
					return as[Receiver](end), err
				}
				change := func(tx, rx *Config) { tx.MTU, rx.MTU, tx.Hold, rx.Hold = tt.mtu, tt.mtu, Hold, Hold }
				if !p.Fragments {
					pair := testnet.TestPair(t, testnet.Config{MTU: tt.mtu})
					tx, rx := configs(pair, tt.size)
					change(&tx, &rx)
					if _, err := whole.Sender(tx); err == nil || !strings.Contains(err.Error(), p.Name+" sends no fragments") {
						t.Errorf("error %v", err)
					}
					return
				}
				r := openPathOn(t, testnet.Config{MTU: tt.mtu}, whole, tt.size, change)
				for round := range uint64(3) {
					r.send(t, round*30, 30)
					if got, want := r.collect(t), (stream.Tally{Received: 30}); got != want {
						t.Errorf("tally %+v, want %+v", got, want)
					}
				}
			})
		}
	}
}

// as is an end as what it is, nil if there is none.
func as[T End](end End) T {
	is, _ := end.(T)
	return is
}

// TestPeersFragments makes round trips of such.
func TestPeersFragments(t *testing.T) {
	for _, name := range []string{"socket", "socket-spin", "udpconn", "xdp", "xdp-block", "xdp-packetconn"} {
		p, err := Find(name, Trips)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { openPeersOn(t, testnet.Config{}, p, 32768).window(t, 20*time.Millisecond) })
	}
}
