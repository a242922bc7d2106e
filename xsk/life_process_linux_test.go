// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
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

// tally is what a receiving child has seen.
type tally struct {
	// By the numbers in the datagrams; Next is the one after the last.
	Received, Missing, Backward, Next uint64
	Resumed                           int64 // when, in ns of the clock, something came after a pause
	Stats                             Stats
}

// Case 105: a receiver that is stopped, as by a suspend, goes on at once when it
// is continued; what is missing is what the counters say, and nothing old comes
// as new.
func TestLifeStopped(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	child := startChild(t, pair.B.NS, user{}, "receive", pair.B.Name)
	var ready string
	child.hear(&ready)

	ctx, cancel := context.WithCancel(context.Background())
	var next atomic.Uint64
	end := make(chan error)
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	go func() { end <- ticker(ctx, raw, tp, 20, &next) }()
	waitSent := func(n uint64) {
		upTo := next.Load() + n
		until(t, "enough is sent", func() bool { return next.Load() >= upTo })
	}
	waitSent(2000)
	if err := child.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(pauseLeast)
	waitSent(5000)
	resumed := time.Now().UnixNano()
	if err := child.cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitSent(20000) // the child must get its turn on a busy machine too
	cancel()
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	child.tell("stop")
	var got tally
	child.hear(&got)
	child.passes()
	st := got.Stats
	sent := next.Load()
	if missing := got.Missing + sent - got.Next; got.Received+st.RxLost() != sent || missing != st.RxLost() {
		t.Errorf("sent %d: %+v", sent, got)
	}
	if got.Missing == 0 || got.Backward != 0 {
		t.Errorf("%+v", got)
	}
	if late := time.Duration(got.Resumed - resumed); late < 0 || late > stall {
		t.Errorf("resumed after %v", late)
	}
}

// pauseLeast is the shortest gap in reception that is a pause.
const pauseLeast = 300 * time.Millisecond

// playReceive receives until it is told to stop.
func playReceive(t *testing.T, args []string) {
	testnet.Leaks(t)
	s, err := Open(Config{Interface: args[0], RxSize: 256, Direction: ReceiveOnly})
	if err != nil {
		t.Fatal(err)
	}
	p, err := bpf.Attach(bpf.Config{Interface: args[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.SetQueue(0, s.FD()), p.Allow(anyPort)); err != nil {
		t.Fatal(err)
	}
	go func() {
		hear()
		s.SetReceiveDeadline(time.Now())
	}()
	say(t, "ready")
	sum := count(t, s)
	if sum.Stats, err = s.Stats(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(p.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	say(t, sum)
}

// count receives until the deadline.
func count(t *testing.T, s *Socket) (sum tally) {
	t.Helper()
	frames := make([]umem.Frame, 64)
	last := time.Now()
	for {
		n, err := s.ReceiveContext(context.Background(), frames)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return sum
		}
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if now.Sub(last) >= pauseLeast {
			sum.Resumed = now.UnixNano()
		}
		last = now
		for _, f := range frames[:n] {
			b, err := s.Area().Bytes(f)
			if err != nil {
				t.Fatal(err)
			}
			seq := binary.BigEndian.Uint64(b[headers:])
			if seq < sum.Next {
				sum.Backward++
				continue
			}
			sum.Missing += seq - sum.Next
			sum.Received++
			sum.Next = seq + 1
		}
		if err := s.Release(frames[:n]); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that is started inherits nothing of a socket or a program: it would
// keep the queue busy.
func TestLifeCloseOnExec(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	before := descriptors(t)
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	redirect(t, pair.B, bpf.Config{}, s)
	s.SetReceiveDeadline(time.Now().Add(time.Millisecond))
	if _, err := s.ReceiveContext(context.Background(), make([]umem.Frame, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	ours := 0
	for fd, what := range descriptors(t) {
		if before[fd] == what {
			continue
		}
		ours++
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: flags %#x, %v", what, flags, err)
		}
	}
	if ours < 3 { // socket, program's tables and link, what a wait needs
		t.Errorf("only %d descriptors are ours", ours)
	}
	child := startChild(t, pair.B.NS, user{}, "list")
	var theirs []string
	child.hear(&theirs)
	child.passes()
	mine := descriptors(t)[s.FD()]
	for _, what := range theirs {
		if what == mine || strings.Contains(what, "bpf") {
			t.Errorf("the child has %s", what)
		}
	}
}

// descriptors lists what each of the process's descriptors is open on.
func descriptors(t *testing.T) map[int]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[int]string)
	for _, path := range paths {
		var fd int
		if _, err := fmt.Sscan(filepath.Base(path), &fd); err != nil {
			t.Fatal(err)
		}
		if what, err := os.Readlink(path); err == nil {
			list[fd] = what
		}
	}
	return list
}

func playList(t *testing.T, _ []string) {
	var list []string
	for _, what := range descriptors(t) {
		list = append(list, what)
	}
	say(t, list)
}
