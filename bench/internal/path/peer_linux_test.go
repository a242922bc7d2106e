// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

// A pairOfPeers is both sides of one path over a veth pair.
type pairOfPeers struct {
	pair           *testnet.Pair
	client, server Peer
	size           int
}

// openPeers opens both sides of a path and closes them with the test.
func openPeers(t *testing.T, p Path, size int) *pairOfPeers {
	t.Helper()
	return openPeersOn(t, testnet.Config{}, p, size)
}

// openPeersOn is openPeers on a pair of another kind.
func openPeersOn(t *testing.T, net testnet.Config, p Path, size int) *pairOfPeers {
	t.Helper()
	r := &pairOfPeers{pair: testnet.TestPair(t, net), size: size}
	c, s := configs(r.pair, size)
	in := func(end testnet.End, f func() error) {
		t.Helper()
		if err := end.NS.Do(f); err != nil {
			t.Fatal(err)
		}
	}
	in(r.pair.B, func() (err error) { r.server, err = p.Peer(s); return err })
	t.Cleanup(func() { in(r.pair.B, r.server.Close) })
	in(r.pair.A, func() (err error) { r.client, err = p.Peer(c); return err })
	t.Cleanup(func() { in(r.pair.A, r.client.Close) })
	return r
}

// window runs a window of round trips, and wants every datagram to come: in time or
// late, as it happens on a machine that is very busy.
func (r *pairOfPeers) window(t *testing.T, d time.Duration) {
	t.Helper()
	var trips rr.Trips
	var served rr.Served
	ctx, cancel := context.WithCancel(t.Context())
	in, out := stream.NewChecker(r.size, run), stream.NewChecker(r.size, run)
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { served, errs[0] = rr.Echo(ctx, r.server, in) })
	trips, errs[1] = rr.Ping(t.Context(), r.client, stream.NewGenerator(r.size, run), out, d)
	cancel()
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	answers, requests := out.Tally(), in.Tally()
	answers.Reordered = 0 // one that was late
	if trips.Sent == 0 || answers != (stream.Tally{Received: trips.Sent - served.Late}) || requests != (stream.Tally{Received: trips.Sent}) {
		t.Errorf("%+v, %+v, answers %+v, requests %+v", trips, served, answers, requests)
	}
}

// TestPeers makes round trips over every path, and wants them all and the mode
// told.
func TestPeers(t *testing.T) {
	for _, p := range paths(Trips) {
		for _, size := range []int{stream.HeaderSize, 64, 1472} {
			t.Run(p.Name+"/"+itoa(size), func(t *testing.T) {
				r := openPeers(t, p, size)
				for range 3 {
					r.window(t, 20*time.Millisecond)
				}
				for _, e := range []End{r.client, r.server} {
					if info := e.Info(); info.Batch != 1 || info.Mode != "-" && info.Mode != "native copy" && info.Mode != "generic copy" {
						t.Errorf("%+v", info)
					}
					counts, err := e.Counters()
					if err != nil {
						t.Error(err)
					}
					for _, c := range counts {
						if c.N != 0 {
							t.Errorf("nothing was lost, but %+v", c)
						}
					}
				}
			})
		}
	}
}

// TestPeersJumbo makes round trips of datagrams that no frame has room for.
func TestPeersJumbo(t *testing.T) {
	for _, name := range []string{"socket", "xdp", "xdp-block", "xdp-busy"} {
		p, err := Find(name, Trips)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			r := openPeersOn(t, testnet.Config{MTU: 9000}, p, 8000)
			r.window(t, 20*time.Millisecond)
		})
	}
}

// TestPeersLost waits for an answer that does not come, and gives up in time; then
// the path goes on.
func TestPeersLost(t *testing.T) {
	for _, p := range paths(Trips) {
		t.Run(p.Name, func(t *testing.T) {
			r := openPeers(t, p, 64)
			// Twice, so that a deadline that has passed is there, and nothing of
			// the first wait is left over.
			for range 2 {
				begun := time.Now()
				until := begun.Add(30 * time.Millisecond)
				for time.Now().Before(until) {
					if b, err := r.client.Receive(until); b != nil || err != nil {
						t.Fatalf("%x of nothing, %v", b, err)
					}
				}
				if took := time.Since(begun); took > time.Second {
					t.Errorf("waited for %v", took)
				}
			}
			r.window(t, 10*time.Millisecond)
		})
	}
}

// TestPeersClosed proves that a path leaves the interface as it found it, also
// with a datagram in its hands.
func TestPeersClosed(t *testing.T) {
	for _, p := range paths(Trips) {
		t.Run(p.Name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			before, open := state(t, pair), descriptors(t)
			c, s := configs(pair, 64)
			var client, server Peer
			in := func(end testnet.End, f func() error) {
				t.Helper()
				if err := end.NS.Do(f); err != nil {
					t.Fatal(err)
				}
			}
			in(pair.B, func() (err error) { server, err = p.Peer(s); return err })
			in(pair.A, func() (err error) { client, err = p.Peer(c); return err })
			b, err := client.Request()
			if err == nil {
				gen := stream.NewGenerator(64, run)
				gen.Write(b, 0)
				err = client.Send()
			}
			if err != nil {
				t.Fatal(err)
			}
			for until := time.Now().Add(5 * time.Second); ; {
				if b, err := server.Receive(until); err != nil || time.Now().After(until) {
					t.Fatalf("nothing came: %v", err)
				} else if b != nil {
					break
				}
			}
			in(pair.A, client.Close)
			in(pair.B, server.Close)
			if after := state(t, pair); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
			if n := descriptors(t); n > open {
				t.Errorf("%d descriptors before, %d after", open, n)
			}
		})
	}
}

// TestPeersNoAllocations counts per round trip.
func TestPeersNoAllocations(t *testing.T) {
	for _, p := range paths(Trips) {
		t.Run(p.Name, func(t *testing.T) {
			r := openPeers(t, p, 64)
			gen, check := stream.NewGenerator(64, run), stream.NewChecker(64, run)
			var seq uint64
			receive := func(from Peer) {
				for until := time.Now().Add(5 * time.Second); ; {
					b, err := from.Receive(until)
					if err != nil || b == nil && time.Now().After(until) {
						t.Fatalf("nothing came: %v", err)
					}
					if b != nil {
						check.Add(b)
						return
					}
				}
			}
			trip := func() {
				b, err := r.client.Request()
				if err != nil {
					t.Fatal(err)
				}
				gen.Write(b, seq)
				seq++
				if err := r.client.Send(); err != nil {
					t.Fatal(err)
				}
				receive(r.server)
				if err := r.server.Reply(); err != nil {
					t.Fatal(err)
				}
				receive(r.client)
			}
			trip()
			if got := testing.AllocsPerRun(200, trip); got != 0 {
				t.Errorf("%v allocations a round trip", got)
			}
			if got := check.Tally(); got.Received != seq || got.Duplicated != seq {
				t.Errorf("%+v of %d round trips", got, seq)
			}
		})
	}
}

// TestPeerOpenErrors opens on an interface that is not there.
func TestPeerOpenErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg, _ := configs(pair, 64)
	cfg.Interface = "nosuch0"
	before := descriptors(t)
	for _, p := range paths(Trips) {
		if p.Name == "socket" || p.Name == "socket-spin" || p.Name == "udpconn" {
			continue // they do not look at it
		}
		if err := pair.A.NS.Do(func() error { return fails(p.Peer(cfg)) }); err == nil {
			t.Errorf("%s: no error", p.Name)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
