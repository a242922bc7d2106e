// SPDX-License-Identifier: MIT

package device

import (
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Each cookie comes back once, whatever happens to the link while its packet is sent:
// one that came twice would let an image be drawn while it is being sent.
func TestCookies(t *testing.T) {
	for _, via := range []Via{XDP, Socket} {
		pair := testnet.TestPair(t, testnet.Config{MTU: 9000})
		cfg := Config{Interface: pair.A.Name, Via: via}.withDefaults(9000)
		var out transport
		if err := pair.A.NS.Do(func() (err error) {
			if via == Socket {
				out, err = openSocket(cfg, pair.A.IP4, 9000)
			} else {
				out, err = openXDP(t.Context(), cfg, pair.A.IP4, 9000)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		out.aim(netip.AddrPortFrom(pair.B.IP4, 4000))
		failed, want := 0, uint64(0)
		send := func(n int) {
			for range n {
				want += 2
				if err := out.single(t.Context(), single{header: make([]byte, 8), off: 5, n: 8000, cookie: want - 1}); err != nil {
					failed++
				}
				_, err := out.train(t.Context(), train{off: 77, len: 20000, size: 8000, cookie: want, header: func(uint32, []byte) int { return 8 }})
				if err != nil {
					failed++
				}
			}
		}
		flap := []func(bool) error{pair.A.SetUp, pair.B.SetUp}
		for i := range 6 {
			send(20)
			if err := flap[i%2](false); err != nil {
				t.Fatal(err)
			}
			send(20)
			if err := flap[i%2](true); err != nil {
				t.Fatal(err)
			}
		}
		if failed == 0 {
			t.Error("all went well")
		}
		times := map[uint64]int{}
		quiet := time.Now()
		for end := quiet.Add(patient); time.Now().Before(end) && time.Since(quiet) < 300*time.Millisecond; {
			var got [64]uint64
			n := out.completed(got[:])
			for _, c := range got[:n] {
				times[c]++
			}
			if n > 0 || len(times) < int(want) {
				quiet = time.Now()
			}
			time.Sleep(time.Millisecond)
		}
		for c := uint64(1); c <= want; c++ {
			if times[c] != 1 {
				t.Errorf("via %v: cookie %d came %d times", via, c, times[c])
			}
		}
		if err := out.close(); err != nil {
			t.Error(err)
		}
	}
}
