// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// nobody is a user with CAP_NET_RAW of whom no other process on the machine is:
// the kernel counts locked memory by user.
func nobody() user {
	return user{id: 1<<20 + uint32(os.Getpid()), caps: []uintptr{unix.CAP_NET_RAW}}
}

const mib = 1 << 20

// areaOf is a configuration whose area has n bytes.
func areaOf(name string, n int) Config {
	return Config{Interface: name, RxSize: 256, TxSize: 64, RxFrames: n/2048 - 64, TxFrames: 64}
}

// Cases 10 and 53: the locked-memory limit is told as that, with what was wanted
// and what is allowed; and Info.Locked is exactly what the kernel counts.
func TestSetupMemlock(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	for _, c := range []struct {
		part  string
		limit int
	}{
		{"memlock", 64 << 10},
		{"memlock", mib},
		{"second", 3 * mib / 2},
		{"rounds", mib},
	} {
		t.Run(fmt.Sprintf("%s %d", c.part, c.limit), func(t *testing.T) {
			startChild(t, pair.B.NS, nobody(), c.part, pair.B.Name, strconv.Itoa(c.limit)).passes()
		})
	}
}

// Case 53: the memory of sockets with defaults is what the documentation says,
// and the process grows by no more than that and the rings.
func TestSetupMemory(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	debug.FreeOSMemory() // or the runtime might give some back meanwhile
	before := resident(t)
	locked := 0
	for q := range 2 {
		s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: q})
		if got := s.Info().Locked; got != (2048+2048)*2048 {
			t.Errorf("%d bytes locked", got)
		}
		locked += s.Info().Locked
	}
	const rings = 2 * (2048*16*2 + 2048*8*2)
	if grown := resident(t) - before; grown < locked || grown > locked+rings+8*mib {
		t.Errorf("grown by %d bytes, locked %d", grown, locked)
	}
}

// resident is how much memory the process has.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// limitMemory sets the child's locked-memory limit, hard and soft.
func limitMemory(t *testing.T, bytes string) (limit int) {
	t.Helper()
	limit, err := strconv.Atoi(bytes)
	if err != nil {
		t.Fatal(err)
	}
	lim := unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil {
		t.Fatal(err)
	}
	return limit
}

// playMemlock opens with an area of the limit's size and one that is a page
// larger.
func playMemlock(t *testing.T, args []string) {
	testnet.Leaks(t)
	limit := limitMemory(t, args[1])
	start := time.Now()
	if limit < mib {
		_, err := Open(areaOf(args[0], mib))
		refused(t, err, unix.ENOBUFS, "locked-memory limit", "1048576 bytes", strconv.Itoa(limit)+" bytes", "ulimit -l", "CAP_IPC_LOCK")
	} else {
		_, err := Open(areaOf(args[0], limit+os.Getpagesize()))
		refused(t, err, unix.ENOBUFS, "locked-memory limit", fmt.Sprint(limit+os.Getpagesize()), strconv.Itoa(limit))
	}
	if took := time.Since(start); took > defaultBusyWait/2 {
		t.Errorf("hopeless, yet tried for %v", took)
	}
	if limit < mib {
		return
	}
	s, err := Open(areaOf(args[0], limit))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Info().Locked; got != limit {
		t.Errorf("Info.Locked is %d, the kernel counts %d", got, limit)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// playSecond opens two sockets whose areas fit one by one and not together.
func playSecond(t *testing.T, args []string) {
	testnet.Leaks(t)
	limit := limitMemory(t, args[1])
	first, err := Open(areaOf(args[0], mib))
	if err != nil {
		t.Fatal(err)
	}
	cfg := areaOf(args[0], mib)
	cfg.Queue, cfg.BusyWait = 1, 20*time.Millisecond
	_, err = Open(cfg)
	refused(t, err, unix.ENOBUFS, "locked-memory limit", "1048576 bytes", strconv.Itoa(limit)+" bytes")
	if st, err := first.Stats(); err != nil || st.FillUsed == 0 {
		t.Errorf("the first suffered: %v %+v", err, st)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := Open(areaOf(args[0], mib))
	if err != nil {
		t.Fatal("though the first is closed:", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// playRounds opens and closes a socket that needs all that may be locked, so
// that any page that stays locked ends it; and opens in vain between.
func playRounds(t *testing.T, args []string) {
	testnet.Leaks(t)
	limit := limitMemory(t, args[1])
	for round := range 30 {
		s, err := Open(areaOf(args[0], limit))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 500 {
		if _, err := Open(areaOf(args[0], 2*limit)); err == nil {
			t.Fatal("no limit")
		}
	}
	s, err := Open(areaOf(args[0], limit))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
