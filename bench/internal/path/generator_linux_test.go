// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestGenerator has the kernel send to every receiver. What comes is whole and numbered
// right, each once, in each of several windows; and the interfaces are left as they were.
func TestGenerator(t *testing.T) {
	for _, p := range paths(Load) {
		t.Run(p.Name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			before := state(t, pair)
			tx, rx := configs(pair, 200)
			r := &rig{pair: pair, size: 200}
			var gen Generator
			r.inside(t, pair.B, func() error { end, err := p.Open(Load, false, rx); r.rx = as[Receiver](end); return err })
			r.inside(t, pair.A, func() error { end, err := p.Open(Load, true, tx); gen = as[Generator](end); return err })
			for window := range uint32(3) {
				generate(t, r, gen, run+window)
			}
			r.inside(t, pair.A, gen.Close)
			r.inside(t, pair.B, r.rx.Close)
			if after := state(t, pair); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
		})
	}
}

// generate runs a window.
func generate(t *testing.T, r *rig, gen Generator, run uint32) {
	t.Helper()
	check := stream.NewChecker(r.size, run)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var rxErr, txErr error
	wg.Go(func() { _, rxErr = stream.Collect(ctx, r.rx, check, 64) })
	var sent stream.Sent
	err := r.pair.A.NS.Do(func() error {
		sent, txErr = gen.Generate(t.Context(), run, 20*time.Millisecond)
		return txErr
	})
	cancel()
	wg.Wait()
	if err := errors.Join(err, rxErr); err != nil {
		t.Fatal(err)
	}
	got := check.Tally()
	if sent.Datagrams == 0 || sent.Elapsed <= 0 || got.Received == 0 || got.Received > sent.Datagrams || got != (stream.Tally{Received: got.Received}) {
		t.Errorf("sent %+v, received %+v", sent, got)
	}
}

// TestGeneratorErrors: what it cannot do it says.
func TestGeneratorErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{MTU: 9000})
	tx, _ := configs(pair, 32768)
	tx.MTU = 9000
	for want, change := range map[string]func(*Config){
		"the generator sends no fragments": func(*Config) {},
		"nosuch0":                          func(c *Config) { c.Size, c.Interface = 64, "nosuch0" },
		"must be of six bytes":             func(c *Config) { c.Size, c.PeerMAC = 64, nil },
	} {
		cfg := tx
		change(&cfg)
		err := pair.A.NS.Do(func() error {
			end, err := socketPath().Open(Load, true, cfg)
			return fails(end, err)
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	tx.Size = 8000 // more than the kernel makes frames of
	err := pair.A.NS.Do(func() error {
		end, err := socketPath().Open(Load, true, tx)
		if err != nil {
			return err
		}
		_, err = as[Generator](end).Generate(t.Context(), run, time.Millisecond)
		return errors.Join(err, end.Close())
	})
	if err == nil || !strings.Contains(err.Error(), "live frames of 8042 bytes") {
		t.Errorf("error %v", err)
	}
}
