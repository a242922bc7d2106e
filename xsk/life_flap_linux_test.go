// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// A link that goes down (measured M15): the sender is told, what it queued stays
// queued and leaves when the link is up again; a receiver waits through it.
func TestLifeLinkDown(t *testing.T) {
	for _, w := range waits {
		t.Run(w.String(), func(t *testing.T) {
			testnet.Leaks(t)
			pair := testnet.TestPair(t, testnet.Config{})
			s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Wait: w})
			redirect(t, pair.B, bpf.Config{}, s)
			raw := openRaw(t, pair.A)
			got := make(chan error)
			go func() {
				frames := make([]umem.Frame, 4)
				n, err := s.ReceiveContext(within(t, childWait), frames)
				got <- errors.Join(err, s.Release(frames[:n]))
			}()
			if err := pair.B.SetUp(false); err != nil {
				t.Fatal(err)
			}
			queueWhileDown(t, pair, s, 20)
			select {
			case err := <-got:
				t.Fatalf("the receiver ended with %v", err)
			case <-time.After(250 * time.Millisecond): // it has asked for its device meanwhile
			}
			if err := errors.Join(pair.B.SetUp(true), pair.B.WaitUp(), pair.A.WaitUp()); err != nil {
				t.Fatal(err)
			}
			if left, err := s.Flush(); left != 0 || err != nil {
				t.Errorf("flush: %d left, %v", left, err)
			}
			for i := range 20 {
				if seq := checkPayload(t, hears(t, raw)); seq != uint64(i) {
					t.Fatalf("datagram %d is number %d", i, seq)
				}
			}
			back := template(t, pair.A, pair.B)
			if err := openRaw(t, pair.A).Send(datagram(&back, 1, 64)); err != nil {
				t.Fatal(err)
			}
			if err := <-got; err != nil {
				t.Error(err)
			}
			if st, _ := s.Stats(); st.TxLost != 0 || st.TxPackets != 20 || st.TxCompleted != 20 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// queueWhileDown sends n datagrams into a link that is down.
func queueWhileDown(t *testing.T, pair *testnet.Pair, s *Socket, n int) {
	t.Helper()
	tp := template(t, pair.B, pair.A)
	frames := make([]umem.Frame, n)
	if k, err := s.Reserve(frames); k != n || err != nil {
		t.Fatal(k, err)
	}
	for i := range frames {
		frames[i] = write(t, s, frames[i], datagram(&tp, uint64(i), 64))
	}
	if k, err := s.Send(frames); k != n || err != nil {
		t.Errorf("send: %d, %v", k, err)
	}
	for range 3 {
		left, err := s.Flush()
		refused(t, err, ErrLinkDown, "flush", pair.B.Name)
		if left != n || !errors.Is(err, unix.ENETDOWN) {
			t.Errorf("%d left: %v", left, err)
		}
	}
	refused(t, s.Drain(within(t, time.Second)), ErrLinkDown)
}

// A peer that goes down: packets are lost, each is counted, and after it is up
// again nothing is lost.
func TestLifePeerDown(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	tp := template(t, pair.B, pair.A)
	if err := pair.A.SetUp(false); err != nil {
		t.Fatal(err)
	}
	frames := make([]umem.Frame, 100)
	if n, err := s.Reserve(frames); n != len(frames) || err != nil {
		t.Fatal(n, err)
	}
	for i := range frames {
		frames[i] = write(t, s, frames[i], datagram(&tp, uint64(i), 64))
	}
	if n, err := s.Send(frames); n != len(frames) || err != nil {
		t.Fatal(n, err)
	}
	left, err := s.Flush()
	refused(t, err, ErrLost, "flush", "lost")
	if st, _ := s.Stats(); left != 0 || st.TxLost != 100 || !errors.Is(err, unix.EBUSY) {
		t.Errorf("%d left, %v, %+v", left, err, st)
	}
	if err := errors.Join(pair.A.SetUp(true), pair.A.WaitUp(), pair.B.WaitUp()); err != nil {
		t.Fatal(err)
	}
	sendFromAll(t, pair, []*Socket{s}, 100)
	if st, _ := s.Stats(); st.TxLost != 100 || st.TxCompleted != 200 {
		t.Errorf("%+v", st)
	}
}

// Case 100: a new name, address or promiscuity does a socket no harm.
func TestLifeRenamed(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	p := redirect(t, pair.B, bpf.Config{}, s)
	raw := openRaw(t, pair.A)
	name := s.Info().Interface
	for i, change := range []func() error{
		func() error { return pair.B.Rename(name + "x") },
		func() error {
			mac := net.HardwareAddr{2, 0, 0, 0, 0, 9}
			return errors.Join(pair.B.SetMAC(mac), p.SetMAC(mac))
		},
		func() error { return pair.B.SetPromiscuous(true) },
		func() error { return pair.B.SetPromiscuous(false) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		delivers(t, raw, pair.A, pair.B, s, uint64(i*100), 100)
		sendFromAll(t, pair, []*Socket{s}, 20)
		if _, err := s.Stats(); err != nil {
			t.Error(err)
		}
	}
	// Another interface may take the old name; the error names the present one.
	fails(t, pair.B, Config{Interface: name}, ErrNoInterface)
	fails(t, pair.B, Config{Index: pair.B.Index, BusyWait: -1}, ErrQueueBusy, name+"x")
}

// Case 101: queues cannot be taken away from under a socket; others come and go.
func TestLifeQueues(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	first := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	second, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.B.SetQueues(1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("queue 1 was taken away: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	until(t, "queue 1 can go", func() bool { return pair.B.SetQueues(1) == nil })
	fails(t, pair.B, Config{Interface: pair.B.Name, Queue: 1}, unix.EINVAL, "1 of 1")
	redirect(t, pair.B, bpf.Config{}, first)
	raw := openRaw(t, pair.A)
	delivers(t, raw, pair.A, pair.B, first, 0, 50)
	for round := range 3 {
		if err := pair.B.SetQueues(2 + round); err != nil {
			t.Fatal(err)
		}
		s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: 1 + round})
		sendFromAll(t, pair, []*Socket{first, s}, 20)
	}
}

// Deadlines of the wait hold while the link is down, and a socket that is closed
// meanwhile ends its receivers.
func TestLifeDownDeadline(t *testing.T) {
	testnet.Leaks(t)
	for _, w := range waits {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Wait: w})
			if err := pair.B.SetUp(false); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			s.SetReceiveDeadline(start.Add(150 * time.Millisecond))
			_, err := s.ReceiveContext(context.Background(), make([]umem.Frame, 1))
			checkDeadline(t, err, time.Since(start), 150*time.Millisecond)
			s.SetReceiveDeadline(time.Time{})
			end := make(chan error)
			go func() {
				_, err := s.ReceiveContext(context.Background(), make([]umem.Frame, 1))
				end <- err
			}()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-end; !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

// stall is how long a busy machine may keep a goroutine from running.
const stall = 2 * time.Second

// checkDeadline checks that a wait ended because of its deadline, and in time.
func checkDeadline(t *testing.T, err error, took, want time.Duration) {
	t.Helper()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if took < want || took > want+stall {
		t.Errorf("ended after %v, want %v", took, want)
	}
}
