// SPDX-License-Identifier: MIT

package xsk

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Case 1: a queue that another process has is busy, and is to be had again as
// soon as that process closes it or is killed.
func TestLifeOtherProcess(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	for _, end := range []string{"close", "kill"} {
		c := startChild(t, pair.B.NS, user{}, "hold", pair.B.Name)
		var mode Mode
		c.hear(&mode)
		fails(t, pair.B, Config{Interface: pair.B.Name, BusyWait: 10 * time.Millisecond}, unix.EBUSY,
			pair.B.Name, "queue 0", "already bound by another AF_XDP socket")
		if end == "close" {
			c.tell("close")
		} else {
			c.kill()
		}
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name})
		if err != nil {
			t.Fatalf("after %s: %v", end, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
