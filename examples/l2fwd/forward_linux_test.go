// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
)

// chain is the network of most tests: A - BA|BC - C, with the forwarder in the middle.
func chain(t *testing.T) *testnet.Chain {
	t.Helper()
	testnet.Require(t)
	c, err := testnet.NewChain(testnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Frames go both ways, and lie afterwards in the very chunks that they were
// received into, and in no other: forwarding copies nothing. There are fewer than
// the fill ring has entries, so that no chunk is used twice.
func TestForwardsInPlace(t *testing.T) {
	c := chain(t)
	testnet.Leaks(t)
	r := start(t, c.BA, c.BC)
	a, z := raw(t, c.A), raw(t, c.C)

	const each = 200 // of a veth's 256 and of ours
	var there, back [][]byte
	for i := range each {
		there = append(there, datagram(c.A, c.BA, i, 8+i*7))
		back = append(back, datagram(c.C, c.BC, each+i, 8+i*7))
	}
	must(t, exchange(a, z, there...))
	must(t, exchange(z, a, back...))

	r.stop()
	for i, b := range append(there, back...) {
		if n := bytes.Count(r.mem, b[6:]); n != 0 {
			t.Errorf("frame %d lies as it came in %d chunks", i, n)
		}
		want := swapped(b)
		if n := bytes.Count(r.mem, want); n != 1 {
			t.Fatalf("frame %d lies in %d chunks", i, n)
		}
		pool := bytes.Index(r.mem, want) / 2048 / poolSize
		if pool != i/each {
			t.Errorf("frame %d lies in the pool of %s", i, r.nics[pool].name)
		}
	}
	for _, d := range r.directions {
		if d.received.Load() != each || d.sent.Load() != each {
			t.Errorf("%v", d)
		}
	}
}

// Many times the ring, both ways at once: every chunk is used again and again, and
// nothing is lost as long as a burst fits the rings.
func TestForwardsAgainAndAgain(t *testing.T) {
	c := chain(t)
	start(t, c.BA, c.BC)
	a, z := raw(t, c.A), raw(t, c.C)
	back := make(chan error)
	go func() { back <- rounds(z, a, c.C, c.BC) }()
	errs := errors.Join(rounds(a, z, c.A, c.BA), <-back)
	must(t, errs)
}

// rounds exchanges a hundred bursts of a hundred.
func rounds(from, to *testnet.Raw, src, dst testnet.End) error {
	for round := range 100 {
		var frames [][]byte
		for i := range 100 {
			frames = append(frames, datagram(src, dst, round*100+i, 8+i*13))
		}
		if err := exchange(from, to, frames...); err != nil {
			return fmt.Errorf("%s, burst %d: %w", src.Name, round, err)
		}
	}
	return nil
}

// One interface: what comes goes back to its sender.
func TestEcho(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	start(t, pair.B)
	a := raw(t, pair.A)
	must(t, rounds(a, a, pair.A, pair.B))
}

// A datagram that the other interface does not take is dropped and counted; those
// before and after it pass.
func TestTooLong(t *testing.T) {
	c := chain(t)
	if err := c.BC.SetMTU(1000); err != nil {
		t.Fatal(err)
	}
	r := start(t, c.BA, c.BC)
	a, z := raw(t, c.A), raw(t, c.C)
	must(t, exchange(a, z, datagram(c.A, c.BA, 0, 900)))
	if err := a.Send(datagram(c.A, c.BA, 1, 1001-28)); err != nil {
		t.Fatal(err)
	}
	must(t, exchange(a, z, datagram(c.A, c.BA, 2, 1000-28)))
	if d := r.directions[0]; d.tooLong.Load() != 1 || d.sent.Load() != 2 {
		t.Error(d)
	}
}

// With its link down, the way out fills up and drops; once it is up again, frames
// pass as before.
func TestLinkDown(t *testing.T) {
	c := chain(t)
	r := start(t, c.BA, c.BC)
	a, z := raw(t, c.A), raw(t, c.C)
	must(t, exchange(a, z, datagram(c.A, c.BA, 0, 64)))
	if err := c.BC.SetUp(false); err != nil {
		t.Fatal(err)
	}
	d := r.directions[0]
	for i := 1; d.full.Load() == 0; i++ {
		if err := a.Send(datagram(c.A, c.BA, i, 64)); err != nil {
			t.Fatal(err)
		}
		if i > 100*ringSize {
			t.Fatalf("nothing dropped: %v", d)
		}
	}
	if err := c.BC.SetUp(true); err != nil {
		t.Fatal(err)
	}
	if err := c.BC.WaitUp(); err != nil {
		t.Fatal(err)
	}
	// What waited in the TX ring comes first, the last in at last.
	last := swapped(datagram(c.A, c.BA, 1<<20, 64))
	if err := a.Send(swapped(last)); err != nil {
		t.Fatal(err)
	}
	for {
		b, err := receive(z)
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if bytes.Equal(b, last) {
			return
		}
	}
}

// What cannot be opened is an error that leaves nothing behind.
func TestOpenFails(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	err := pair.B.NS.Do(func() error {
		err := l2fwd(t.Context(), []string{pair.B.Name, "none"}, 0, port)
		if err == nil {
			return fmt.Errorf("opened an interface that is not there")
		}
		if again := l2fwd(t.Context(), []string{pair.B.Name}, 5, port); again == nil {
			return fmt.Errorf("opened a queue that is not there")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
