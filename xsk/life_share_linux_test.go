// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// A socket that shares its queue and is closed with unread frames, still in the
// queue map, is gone for good: the kernel takes it out of the map, so that packets
// pass on to the kernel, and the frames serve the other one.
func TestLifeShareQueueClose(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	const chunks = 128
	for _, first := range []int{0, 1} {
		area, err := umem.New(umem.Config{Chunks: 2 * chunks})
		if err != nil {
			t.Fatal(err)
		}
		var socks [2]*Socket
		cfg := Config{Interface: pair.B.Name, Area: area, RxSize: chunks, TxSize: 32}
		if socks[0], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Share = socks[0]
		if socks[1], err = tryIn(pair.B.NS, cfg); err != nil {
			t.Fatal(err)
		}
		p := redirect(t, pair.B, bpf.Config{}, socks[first])
		sendRaw := func(n int) {
			for i := range n {
				if err := raw.Send(datagram(&tp, uint64(i), 64)); err != nil {
					t.Fatal(err)
				}
			}
		}
		sendRaw(100)
		until(t, "100 arrive", func() bool { st, _ := socks[first].Stats(); return st.RxUsed == 100 })
		if err := socks[first].Close(); err != nil {
			t.Error(err)
		}
		checkArea(t, area)
		sendRaw(10)
		until(t, "10 pass to the kernel", func() bool { c, err := p.Counters(); return err == nil && c.NoSocket == 10 })

		left := socks[1-first]
		if err := p.SetQueue(0, left.FD()); err != nil {
			t.Fatal(err)
		}
		for round := range 5 {
			delivers(t, raw, pair.A, pair.B, left, uint64(round*chunks), chunks)
		}
		sendFromAll(t, pair, []*Socket{left}, 50)
		if s := area.Snapshot(); s.Free+s.Fill+s.Transmitting != s.Total {
			t.Errorf("%v", s)
		}
		if err := errors.Join(p.Close(), left.Close(), area.Close()); err != nil {
			t.Error(err)
		}
		// The queue is free when the last has closed.
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, BusyWait: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
