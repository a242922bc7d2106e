// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

const run = 77

// A rig is both sides of one path over a veth pair.
type rig struct {
	pair *testnet.Pair
	tx   Sender
	rx   Receiver
	size int
}

// configs are what the two sides of a path are opened with.
func configs(pair *testnet.Pair, size int) (tx, rx Config) {
	a, b := netip.AddrPortFrom(pair.A.IP4, 9001), netip.AddrPortFrom(pair.B.IP4, 9002)
	tx = Config{
		Interface: pair.A.Name, Local: a, Peer: b, LocalMAC: pair.A.MAC, PeerMAC: pair.B.MAC,
		Size: size, Batch: 64, MTU: 1500, Hold: 1024,
	}
	rx = tx
	rx.Interface, rx.Local, rx.Peer, rx.LocalMAC, rx.PeerMAC = pair.B.Name, b, a, pair.B.MAC, pair.A.MAC
	return tx, rx
}

// openPath opens both sides of a path and closes them with the test.
func openPath(t *testing.T, p Path, size int, change func(tx, rx *Config)) *rig {
	t.Helper()
	return openPathOn(t, testnet.Config{}, p, size, change)
}

// openPathOn is openPath on a pair of another kind.
func openPathOn(t *testing.T, net testnet.Config, p Path, size int, change func(tx, rx *Config)) *rig {
	t.Helper()
	r := &rig{pair: testnet.TestPair(t, net), size: size}
	tx, rx := configs(r.pair, size)
	change(&tx, &rx)
	r.inside(t, r.pair.B, func() (err error) { r.rx, err = p.Receiver(rx); return err })
	t.Cleanup(func() { r.inside(t, r.pair.B, r.rx.Close) })
	r.inside(t, r.pair.A, func() (err error) { r.tx, err = p.Sender(tx); return err })
	t.Cleanup(func() { r.inside(t, r.pair.A, r.tx.Close) })
	return r
}

func (r *rig) inside(t *testing.T, end testnet.End, f func() error) {
	t.Helper()
	if err := end.NS.Do(f); err != nil {
		t.Fatal(err)
	}
}

// send sends datagrams with the numbers from first on, n of them.
func (r *rig) send(t *testing.T, first, n uint64) {
	t.Helper()
	gen := stream.NewGenerator(r.size, run)
	bufs := make([][]byte, 64)
	for seq := first; seq < first+n; {
		k, err := r.tx.Reserve(bufs[:min(64, first+n-seq)])
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bufs[:k] {
			if len(b) < r.size {
				t.Fatalf("buffer of %d bytes for a payload of %d", len(b), r.size)
			}
			gen.Write(b, seq+uint64(i))
		}
		taken, err := r.tx.Send(k)
		if err != nil || taken != k {
			t.Fatalf("%d of %d taken: %v", taken, k, err)
		}
		seq += uint64(k)
	}
	if left, err := r.tx.Flush(); left != 0 || err != nil {
		t.Fatalf("%d left: %v", left, err)
	}
}

// collect receives until nothing more comes.
func (r *rig) collect(t *testing.T) stream.Tally {
	t.Helper()
	check := stream.NewChecker(r.size, run)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream.Collect(ctx, r.rx, check, 64); err != nil {
		t.Fatal(err)
	}
	return check.Tally()
}

func unchanged(*Config, *Config) {}

// paths are those that do k on a veth, which is never zero-copy.
func paths(k Kind) (found []Path) {
	for _, p := range All() {
		if p.does(k) && p.Name != "xdp-zerocopy" {
			found = append(found, p)
		}
	}
	return found
}

// TestPaths sends some datagrams over every path, and wants them all and the
// mode told.
func TestPaths(t *testing.T) {
	modes := map[string][2]string{
		"socket": {"-", "-"}, "mmsg": {"-", "-"}, "gso": {"segmented", "-"},
		"udpconn": {"-", "-"}, "asavie": {"copy", "native copy"}, "xdp-raw": {"copy", "native copy"},
		"xdp": {"native copy", "native copy"}, "xdp-packetconn": {"native copy", "native copy"},
		"xdp-deferred": {"native copy", "native copy"}, "gso-veth": {"whole", "-"}, "packet": {"-", "ring"},
		"xdp-generic": {"generic copy", "generic copy"}, "xdp-copy": {"native copy", "native copy"},
	}
	for _, p := range paths(Stream) {
		for _, size := range []int{stream.HeaderSize, 64, 1472} {
			t.Run(p.Name+"/"+itoa(size), func(t *testing.T) {
				r := openPath(t, p, size, unchanged)
				if got := [2]string{r.tx.Info().Mode, r.rx.Info().Mode}; got != modes[p.Name] {
					t.Errorf("modes %q, want %q", got, modes[p.Name])
				}
				for round := range uint64(5) {
					r.send(t, round*500, 500)
					want := stream.Tally{Received: 500}
					if got := r.collect(t); got != want {
						t.Errorf("tally %+v, want %+v", got, want)
					}
				}
				for _, e := range []End{r.tx, r.rx} {
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

// TestPathsJumbo sends datagrams that no frame of an AF_XDP path has room for, by
// the paths that take such.
func TestPathsJumbo(t *testing.T) {
	for _, name := range []string{"mmsg", "udpconn", "xdp", "xdp-packetconn"} {
		p, err := Find(name, Stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{4000, 8000, 8972} {
			for _, sums := range []bool{false, true} {
				t.Run(name+"/"+itoa(size), func(t *testing.T) {
					r := openPathOn(t, testnet.Config{MTU: 9000}, p, size, func(tx, rx *Config) {
						tx.MTU, rx.MTU, tx.Checksum, rx.Checksum = 9000, 9000, sums, sums
					})
					for round := range uint64(5) {
						r.send(t, round*150, 150)
						if got, want := r.collect(t), (stream.Tally{Received: 150}); got != want {
							t.Errorf("tally %+v, want %+v", got, want)
						}
					}
				})
			}
		}
	}
}

// TestOverflow sends more than a receiver that sleeps can hold. Every path must
// hold what it was told to and hardly more, and know where the rest went.
func TestOverflow(t *testing.T) {
	for _, p := range paths(Stream) {
		for _, size := range []int{64, 1472} {
			t.Run(p.Name+"/"+itoa(size), func(t *testing.T) { overflow(t, p, size) })
		}
	}
}

func overflow(t *testing.T, p Path, size int) {
	const sent = 5000
	r := openPath(t, p, size, unchanged)
	r.send(t, 0, sent)
	got := r.collect(t).Received
	most := uint64(1024 * 3 / 2)
	if p.Name == "gso-veth" {
		most = sent // a bundle takes less room than its datagrams, each for itself, would
	}
	if got < 1024 || got > most {
		t.Errorf("received %d of %d, must hold 1024", got, sent)
	}
	counts, err := r.rx.Counters()
	if err != nil {
		t.Fatal(err)
	}
	lost := uint64(sent) - got
	split := loss.Attribute(lost, counts)
	if split[loss.Unaccounted] != 0 {
		t.Errorf("lost %d, counters %+v", lost, counts)
	}
	// Counters that count single datagrams must be exact.
	var sum uint64
	for _, c := range counts {
		sum += c.N
	}
	if !strings.HasPrefix(p.Name, "gso") && sum != lost {
		t.Errorf("lost %d, counted %d: %+v", lost, sum, counts)
	}
	if n := receiveBufferErrors(t, r.pair.B); (p.Name == "socket" || p.Name == "mmsg") && n != lost {
		t.Errorf("lost %d, the namespace counts %d RcvbufErrors", lost, n)
	}
}

// TestClosed proves that a path leaves the interface as it found it: the next
// one may be another.
func TestClosed(t *testing.T) {
	for _, p := range paths(Stream) {
		t.Run(p.Name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			before := state(t, pair)
			tx, rx := configs(pair, 64)
			r := &rig{pair: pair, size: 64}
			r.inside(t, pair.B, func() (err error) { r.rx, err = p.Receiver(rx); return err })
			r.inside(t, pair.A, func() (err error) { r.tx, err = p.Sender(tx); return err })
			r.inside(t, pair.A, r.tx.Close)
			r.inside(t, pair.B, r.rx.Close)
			if after := state(t, pair); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
		})
	}
}

// TestNoAllocations counts per datagram over a whole exchange.
func TestNoAllocations(t *testing.T) {
	for _, p := range paths(Stream) {
		t.Run(p.Name, func(t *testing.T) {
			r := openPath(t, p, 64, unchanged)
			gen, check := stream.NewGenerator(64, run), stream.NewChecker(64, run)
			bufs, views := make([][]byte, 64), make([][]byte, 64)
			var seq uint64
			exchange := func() {
				n, err := r.tx.Reserve(bufs)
				if err != nil {
					t.Fatal(err)
				}
				for i, b := range bufs[:n] {
					gen.Write(b, seq+uint64(i))
				}
				if _, err := r.tx.Send(n); err != nil {
					t.Fatal(err)
				}
				seq += uint64(n)
				for deadline := time.Now().Add(time.Second); check.Tally().Received < seq; {
					k, err := r.rx.Receive(t.Context(), views)
					if err != nil || time.Now().After(deadline) {
						t.Fatalf("received %d of %d: %v", check.Tally().Received, seq, err)
					}
					for _, v := range views[:k] {
						check.Add(v)
					}
				}
			}
			exchange()
			if got := testing.AllocsPerRun(200, exchange); got != 0 {
				t.Errorf("%v allocations a batch", got)
			}
		})
	}
}

func TestFind(t *testing.T) {
	for _, k := range []Kind{Stream, Trips} {
		for _, n := range Names(k) {
			if p, err := Find(n, k); err != nil || p.Name != n || !p.does(k) {
				t.Errorf("%s: %q, %v", n, p.Name, err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		kind Kind
		want string
	}{
		{"carrier pigeon", Stream, "there are socket, mmsg"},
		{"mmsg", Trips, "there are socket, socket-spin"},
		{"xdp-busy", Stream, "there are socket, mmsg"},
		{"xdp", "relay race", "no path"},
	} {
		if _, err := Find(tt.name, tt.kind); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: error %v, want %q in it", tt.name, tt.kind, err, tt.want)
		}
	}
}

// TestOpenErrors opens paths on an interface that is not there. Those that do
// not look at it are fine with that.
func TestOpenErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	tx, rx := configs(pair, 64)
	tx.Interface, rx.Interface = "nosuch0", "nosuch0"
	before := descriptors(t)
	for _, p := range paths(Stream) {
		if p.Name == "socket" || p.Name == "mmsg" || p.Name == "udpconn" {
			continue
		}
		for side, err := range map[string]error{
			"sender":   pair.A.NS.Do(func() error { return fails(p.Sender(tx)) }),
			"receiver": pair.B.NS.Do(func() error { return fails(p.Receiver(rx)) }),
		} {
			if err == nil || !strings.Contains(err.Error(), "nosuch0") {
				t.Errorf("%s of %s: error %v", side, p.Name, err)
			}
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// fails closes what was opened against all expectation.
func fails(end End, err error) error {
	if err == nil {
		return errors.Join(end.Close(), errors.New("opened"))
	}
	return err
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
