// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

const soon = 60 * time.Millisecond

// ends is one way to end a wait: what is done before it and while it lasts, how
// long it must last at least, and its error.
type ends struct {
	name   string
	before func(set func(time.Time), cancel func())
	during func(set func(time.Time), cancel func())
	after  time.Duration
	err    error
}

var waysToEnd = []ends{
	{"deadline in the past", func(set func(time.Time), _ func()) { set(time.Now().Add(-time.Hour)) }, nil, 0, os.ErrDeadlineExceeded},
	{"deadline now", func(set func(time.Time), _ func()) { set(time.Now()) }, nil, 0, os.ErrDeadlineExceeded},
	{"deadline before the clock began", func(set func(time.Time), _ func()) { set(time.Unix(0, 0)) }, nil, 0, os.ErrDeadlineExceeded},
	{"deadline to come", func(set func(time.Time), _ func()) { set(time.Now().Add(soon)) }, nil, soon, os.ErrDeadlineExceeded},
	{"deadline set meanwhile", nil, func(set func(time.Time), _ func()) { set(time.Now()) }, soon / 2, os.ErrDeadlineExceeded},
	{"deadline moved nearer", func(set func(time.Time), _ func()) { set(time.Now().Add(time.Hour)) },
		func(set func(time.Time), _ func()) { set(time.Now().Add(soon / 2)) }, soon, os.ErrDeadlineExceeded},
	{"deadline moved away", func(set func(time.Time), _ func()) { set(time.Now().Add(soon)) },
		func(set func(time.Time), _ func()) { set(time.Now().Add(2 * soon)) }, 2*soon + soon/2, os.ErrDeadlineExceeded},
	{"deadline taken back, then cancelled", func(set func(time.Time), _ func()) { set(time.Now().Add(soon)) },
		func(set func(time.Time), cancel func()) { set(time.Time{}); time.AfterFunc(2*soon, cancel) }, 2*soon + soon/2, context.Canceled},
	{"cancelled before", func(_ func(time.Time), cancel func()) { cancel() }, nil, 0, context.Canceled},
	{"cancelled meanwhile", nil, func(_ func(time.Time), cancel func()) { cancel() }, soon / 2, context.Canceled},
}

// Deadlines and contexts end every wait, at the right time, in each way of
// waiting, and leave the socket usable.
func TestLifeWaitsEnd(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: len(waits)})
	for q, w := range waits {
		s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: q, Wait: w, RxSize: 64, TxSize: 64})
		all := make([]umem.Frame, 64)
		if n, err := s.Reserve(all); n != 64 || err != nil {
			t.Fatal(n, err)
		}
		for _, e := range waysToEnd {
			t.Run(fmt.Sprintf("receive %v, %s", w, e.name), func(t *testing.T) {
				e.check(t, s.SetReceiveDeadline, func(ctx context.Context) error {
					_, err := s.ReceiveContext(ctx, make([]umem.Frame, 1))
					return err
				})
			})
			if w != Adaptive {
				continue // sending waits in one way
			}
			t.Run("reserve, "+e.name, func(t *testing.T) {
				e.check(t, s.SetSendDeadline, func(ctx context.Context) error {
					_, err := s.ReserveContext(ctx, make([]umem.Frame, 1))
					return err
				})
			})
		}
		if err := s.Release(all); err != nil {
			t.Error(err)
		}
	}
}

// check runs a call that would wait for ever.
func (e ends) check(t *testing.T, set func(time.Time), call func(context.Context) error) {
	t.Helper()
	for range 10 {
		took, err, valid := e.try(set, call)
		if !valid {
			continue // the machine was too busy
		}
		if !errors.Is(err, e.err) {
			t.Errorf("ended with %v, want %v", err, e.err)
		}
		refused(t, err, nil, "queue")
		if took < e.after || took > e.after+stall {
			t.Errorf("ended after %v, want %v", took, e.after)
		}
		return
	}
	t.Error("never got round to it in time")
}

// try does it once. It is not valid if what is to be done meanwhile was not done
// in time.
func (e ends) try(set func(time.Time), call func(context.Context) error) (took time.Duration, err error, valid bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer set(time.Time{})
	start := time.Now()
	if e.before != nil {
		e.before(set, cancel)
	}
	late := make(chan bool, 1)
	if e.during != nil {
		time.AfterFunc(soon/2, func() {
			at := time.Since(start)
			e.during(set, cancel)
			late <- at > soon*3/4
		})
	} else {
		late <- false
	}
	err = call(ctx)
	took = time.Since(start)
	return took, err, !<-late
}

// A context's own deadline is the context's error; frames that are there come
// before any of it.
func TestLifeFramesBeforeDeadline(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	redirect(t, pair.B, bpf.Config{}, s)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	frames := make([]umem.Frame, 8)
	if _, err := s.ReceiveContext(ctx, frames); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	if err := raw.Send(datagram(&tp, 0, 64)); err != nil {
		t.Fatal(err)
	}
	until(t, "it arrives", s.Ready)
	s.SetReceiveDeadline(time.Now().Add(-time.Second))
	n, err := s.ReceiveContext(ctx, frames)
	if n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := s.Release(frames[:n]); err != nil {
		t.Error(err)
	}
	var none context.Context // allowed, and no end
	if n, err := s.ReceiveContext(none, frames); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
}

// Case 106: signals in great number neither end a wait nor move its deadline.
func TestLifeSignals(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: len(waits)})
	var socks []*Socket
	for q, w := range waits {
		socks = append(socks, openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: q, Wait: w}))
	}
	best := time.Hour
	for range 5 {
		late := make(chan time.Duration)
		for _, s := range socks {
			go func() { late <- waitInStorm(t, s) }()
		}
		for range socks {
			best = min(best, <-late)
		}
		if best <= 50*time.Millisecond {
			return
		}
	}
	t.Errorf("at least %v late", best)
}

// waitInStorm waits for a second while signals come down on the thread, and
// returns how late it was.
func waitInStorm(t *testing.T, s *Socket) time.Duration {
	runtime.LockOSThread() // and never unlocked: signals may still come
	tid, done := unix.Gettid(), make(chan struct{})
	go storm(tid, done)
	before, _ := s.Stats()
	start := time.Now()
	s.SetReceiveDeadline(start.Add(time.Second))
	_, err := s.ReceiveContext(context.Background(), make([]umem.Frame, 1))
	took := time.Since(start)
	close(done)
	checkDeadline(t, err, took, time.Second)
	if st, _ := s.Stats(); st.Sleeps-before.Sleeps > 20000 {
		t.Errorf("%d sleeps in a second", st.Sleeps-before.Sleeps)
	}
	return took - time.Second
}

// storm sends SIGURG to a thread, some thousands a second.
func storm(tid int, done <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			for range 5 {
				_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
			}
		}
	}
}
