// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"sync"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestFans sends a flow on each of three queues. Every datagram comes to one of the
// receivers, whole, and each flow to one alone; and all is closed after that.
func TestFans(t *testing.T) {
	const queues, each = 3, 200
	for _, p := range paths(Queues) {
		t.Run(p.Name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{Queues: queues})
			before := state(t, pair)
			tx, rx := configs(pair, 200)
			tx.Queues, rx.Queues = queues, queues
			r := &rig{pair: pair, size: 200}
			var out, in *Fan
			r.inside(t, pair.B, func() error { end, err := p.Open(Queues, false, rx); in, _ = end.(*Fan); return err })
			r.inside(t, pair.A, func() error { end, err := p.Open(Queues, true, tx); out, _ = end.(*Fan); return err })
			if len(out.Senders) != queues || len(in.Receivers) != queues {
				t.Fatalf("%d senders, %d receivers", len(out.Senders), len(in.Receivers))
			}
			for flow, s := range out.Senders {
				sendFlow(t, s, 200, uint32(flow+1), each)
			}
			var came [queues]int // receivers that got something of a flow
			for flow, n := range receiveFlows(t, in.Receivers, 200, each) {
				for _, of := range n {
					if of == each {
						came[flow]++
					} else if of != 0 {
						t.Errorf("a receiver got %d of %d datagrams of flow %d", of, each, flow)
					}
				}
			}
			if came != [queues]int{1, 1, 1} {
				t.Errorf("flows came to %v receivers", came)
			}
			for _, fan := range []*Fan{out, in} {
				counts, err := fan.Counters()
				if err != nil {
					t.Error(err)
				}
				for _, c := range counts {
					if c.N != 0 {
						t.Errorf("nothing was lost, but %+v", c)
					}
				}
			}
			r.inside(t, pair.A, out.Close)
			r.inside(t, pair.B, in.Close)
			if after := state(t, pair); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
		})
	}
}

func sendFlow(t *testing.T, s stream.Sender, size int, flow uint32, n uint64) {
	t.Helper()
	gen, bufs := stream.NewGenerator(size, flow), make([][]byte, 64)
	for seq := uint64(0); seq < n; {
		k, err := s.Reserve(bufs[:min(64, n-seq)])
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bufs[:k] {
			gen.Write(b, seq+uint64(i))
		}
		if taken, err := s.Send(k); err != nil || taken != k {
			t.Fatalf("%d of %d taken: %v", taken, k, err)
		}
		seq += uint64(k)
	}
	if left, err := s.Flush(); left != 0 || err != nil {
		t.Fatalf("%d left: %v", left, err)
	}
}

// receiveFlows returns how many datagrams of each flow each receiver got.
func receiveFlows(t *testing.T, receivers []stream.Receiver, size, most int) [][]int {
	t.Helper()
	got := make([][]int, len(receivers))
	for flow := range got {
		got[flow] = make([]int, len(receivers))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for i, rx := range receivers {
		wg.Go(func() {
			checks := make([]*stream.Checker, len(receivers))
			for flow := range checks {
				checks[flow] = stream.NewChecker(size, uint32(flow+1))
			}
			_, err := stream.Take(ctx, rx, 64, func(views [][]byte) (all uint64) {
				for _, v := range views {
					for _, c := range checks {
						c.Add(v) // of one run only
					}
				}
				for _, c := range checks {
					all += c.Tally().Received
				}
				return all
			})
			if err != nil {
				t.Error(err)
			}
			for flow, c := range checks {
				got[flow][i] = int(c.Tally().Received)
			}
		})
	}
	wg.Wait()
	return got
}
