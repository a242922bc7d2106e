// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"net/netip"
	stdslices "slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestForwarders has each of them between two ends that flood each other. Something
// comes both ways, in every run, no more than was sent, and what does not come is
// counted; and nothing is left of it.
func TestForwarders(t *testing.T) {
	testnet.Require(t)
	var names []string
	for _, p := range paths(Cross) {
		names = append(names, p.Name)
		t.Run(p.Name, func(t *testing.T) {
			chain, err := testnet.NewChain(testnet.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = chain.Close() })
			must(t, errors.Join(chain.BA.AddNeigh(chain.A.IP4, chain.A.MAC), chain.BC.AddNeigh(chain.C.IP4, chain.C.MAC)))
			left, right := &testnet.Pair{A: chain.A, B: chain.BA}, &testnet.Pair{A: chain.BC, B: chain.C}
			before := state(t, left) + state(t, right)
			a := Config{Interface: chain.A.Name, Local: netip.AddrPortFrom(chain.A.IP4, 9003), Peer: netip.AddrPortFrom(chain.C.IP4, 9003),
				LocalMAC: chain.A.MAC, PeerMAC: chain.BA.MAC, Size: 200, MTU: 1500}
			c := Config{Interface: chain.C.Name, Local: a.Peer, Peer: a.Local, LocalMAC: chain.C.MAC, PeerMAC: chain.BC.MAC, Size: 200, MTU: 1500}
			var ends [2]Crossfire
			var mid End
			must(t, chain.C.NS.Do(func() error { end, err := p.Open(Cross, false, c); ends[1] = as[Crossfire](end); return err }))
			must(t, chain.A.NS.Do(func() error { end, err := p.Open(Cross, true, a); ends[0] = as[Crossfire](end); return err }))
			legs := [2]Leg{{chain.BA.Name, chain.BA.MAC, chain.A.MAC}, {chain.BC.Name, chain.BC.MAC, chain.C.MAC}}
			must(t, chain.BA.NS.Do(func() (err error) { mid, err = p.Forward(legs[0], legs[1], a); return err }))
			for run := uint32(1); run <= 6; run++ { // more than are counted apart
				crossRun(t, chain, ends, mid, run)
			}
			must(t, errors.Join(chain.BA.NS.Do(mid.Close), chain.A.NS.Do(ends[0].Close), chain.C.NS.Do(ends[1].Close)))
			if after := state(t, left) + state(t, right); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
		})
	}
	if want := []string{"xdp", "kernel", "redirect"}; !stdslices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crossRun floods one way, and then the other, and balances the books of each.
func crossRun(t *testing.T, chain *testnet.Chain, ends [2]Crossfire, mid End, run uint32) {
	t.Helper()
	inside := [2]*testnet.NS{chain.A.NS, chain.C.NS}
	for _, x := range ends {
		must(t, x.Expect(run))
	}
	for from, to := range []int{1, 0} {
		before := crossDrops(t, chain, mid)
		var sent uint64
		must(t, inside[from].Do(func() error {
			s, err := ends[from].Generate(t.Context(), run, 5*time.Millisecond)
			sent = s.Datagrams
			return err
		}))
		got, dropped := uint64(0), uint64(0)
		for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			n, err := ends[to].Arrived(run)
			must(t, err)
			if got, dropped = n, crossDrops(t, chain, mid)-before; got+dropped >= sent {
				break
			}
		}
		if got == 0 || got > sent || got+dropped < sent {
			t.Errorf("run %d, from end %d: sent %d, %d came, %d are counted as lost", run, from, sent, got, dropped)
		}
	}
}

// crossDrops is all that the middle and the ends have lost.
func crossDrops(t *testing.T, chain *testnet.Chain, mid End) (sum uint64) {
	t.Helper()
	var counts loss.Counts
	must(t, chain.BA.NS.Do(func() (err error) { counts, err = mid.Counters(); return err }))
	for _, end := range []testnet.End{chain.A, chain.C} {
		must(t, end.NS.Do(func() error {
			own, err := legCounters([2]Leg{{Interface: end.Name}, {Interface: "lo"}})
			counts = append(counts, own...)
			return err
		}))
	}
	for _, c := range counts {
		sum += c.N
	}
	return sum
}
