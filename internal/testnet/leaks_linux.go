// SPDX-License-Identifier: MIT

package testnet

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

// leakWait bounds the wait for what ends by itself: goroutines that were told to
// stop, finalizers, descriptors closed by them.
const leakWait = 5 * time.Second

// Leaks notes what the process holds now, and fails the test if at its end it
// holds more: descriptors, goroutines, or memory mappings outside Go's heap. Call
// it before anything else that registers a Cleanup: cleanups run in reverse order.
//
// The whole process is looked at, so a test that uses Leaks must not run beside
// others (t.Parallel). A test that has failed already only logs what was left.
func Leaks(tb TB) {
	tb.Helper()
	leaks(tb, leakWait)
}

func leaks(tb TB, limit time.Duration) {
	tb.Helper()
	startPoller(tb)
	before, err := takeInventory()
	if err != nil {
		tb.Fatalf("testnet: look for leaks: %v", err)
		return
	}
	tb.Cleanup(func() {
		tb.Helper()
		var left []string
		ok, err := waitFor(limit, func() (bool, error) {
			now, err := takeInventory()
			left = now.since(before)
			return len(left) == 0, err
		})
		switch {
		case err != nil:
			tb.Fatalf("testnet: look for leaks: %v", err)
		case ok:
		case tb.Failed():
			tb.Logf("left behind by the failed test:\n%s", strings.Join(left, "\n"))
		default:
			tb.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
}

// startPoller makes the runtime open the descriptors that it keeps for ever.
func startPoller(tb TB) {
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatalf("testnet: look for leaks: %v", err)
		return
	}
	_ = r.SetDeadline(time.Now())
	_, _ = r.Close(), w.Close()
}

// inventory is what the process holds at one moment.
type inventory struct {
	fds        map[string]bool   // "7 socket:[1234]"
	goroutines map[string]string // by the header's number, with the stack
	maps       map[string]int64  // bytes mapped by name of the mapping
	anonymous  int64             // bytes of nameless memory that is not Go's; 0 where it cannot be told
}

func takeInventory() (inventory, error) {
	var inv inventory
	var err error
	inv.goroutines = goroutines()
	if inv.fds, err = descriptors(); err != nil {
		return inv, err
	}
	inv.maps, inv.anonymous, err = mappings()
	return inv, err
}

// since lists what is in the inventory and was not before, one line each.
func (now inventory) since(before inventory) []string {
	var left []string
	for fd := range now.fds {
		if !before.fds[fd] {
			left = append(left, "descriptor "+fd)
		}
	}
	for id, stack := range now.goroutines {
		if _, old := before.goroutines[id]; !old {
			left = append(left, stack)
		}
	}
	for name, size := range now.maps {
		if grown := size - before.maps[name]; grown > 0 {
			left = append(left, fmt.Sprintf("mapping %s: %d bytes", name, grown))
		}
	}
	if grown := now.anonymous - before.anonymous; grown > anonymousSlack {
		left = append(left, fmt.Sprintf("anonymous memory: %d bytes", grown))
	}
	sort.Strings(left)
	return left
}
