// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// waits are the modes that a receiver can wait in.
var waits = []Wait{Adaptive, Block, Busy}

// vanish are the ways in which an interface can be gone.
var vanish = []struct {
	name string
	do   func(t *testing.T, end *testnet.End)
}{
	{"deleted", func(t *testing.T, end *testnet.End) {
		if err := end.Delete(); err != nil {
			t.Fatal(err)
		}
	}},
	{"moved", func(t *testing.T, end *testnet.End) {
		other, err := testnet.NewNS()
		if err != nil {
			t.Fatal(err)
		}
		old := end.NS // Move makes the pair close the other one instead
		t.Cleanup(func() { old.Close() })
		if err := end.Move(other); err != nil {
			t.Fatal(err)
		}
	}},
}

// Cases 99 and 107: poll tells nothing when the interface is deleted or moved to
// another namespace, and a blocked receiver is told all the same, within 2 s;
// sending and all else says so too, nothing panics, and no frame is lost to it.
func TestLifeGoneReceiving(t *testing.T) {
	for _, w := range waits {
		for _, v := range vanish {
			t.Run(fmt.Sprintf("%s %v", v.name, w), func(t *testing.T) {
				testnet.Leaks(t)
				pair := testnet.TestPair(t, testnet.Config{})
				s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Wait: w, RxSize: 64, TxSize: 64})
				p := redirect(t, pair.B, bpf.Config{}, s)
				delivers(t, openRaw(t, pair.A), pair.A, pair.B, s, 0, 50)

				errs := make(chan error)
				for range 2 {
					go func() {
						_, err := s.ReceiveContext(within(t, childWait), make([]umem.Frame, 8))
						errs <- err
					}()
				}
				st, _ := s.Stats()
				until(t, "the receivers wait", func() bool {
					now, _ := s.Stats()
					return w == Busy || now.Sleeps > st.Sleeps+1
				})
				start := time.Now()
				v.do(t, &pair.B)
				for range 2 {
					refused(t, <-errs, ErrNoInterface, "receive", "queue 0")
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("told after %v", took)
				}
				checkGone(t, s)
				if err := p.Close(); err != nil {
					t.Errorf("close the program: %v", err)
				}
				if v.name == "moved" {
					if left := programs(t, pair.B); len(left) != 0 {
						t.Errorf("left attached: %v", left)
					}
				}
			})
		}
	}
}

// checkGone calls everything on a socket whose interface is gone, and closes it.
func checkGone(t *testing.T, s *Socket) {
	t.Helper()
	frames := make([]umem.Frame, 10)
	if n, err := s.Receive(frames); n != 0 || err != nil {
		t.Errorf("receive: %d, %v", n, err)
	}
	if _, err := s.ReceiveContext(within(t, childWait), frames); !errors.Is(err, unix.ENXIO) {
		t.Errorf("wait: %v", err)
	}
	n, err := s.Reserve(frames)
	if n != len(frames) || err != nil {
		t.Errorf("reserve: %d, %v", n, err)
	}
	for i := range frames {
		frames[i] = frames[i].WithLen(60)
	}
	if n, err := s.Send(frames); n != len(frames) || err != nil {
		t.Errorf("send: %d, %v", n, err)
	}
	_, err = s.Flush()
	refused(t, err, ErrNoInterface, "flush")
	refused(t, s.Drain(within(t, time.Second)), unix.ENXIO, "flush")
	if _, err := s.ReserveContext(within(t, time.Second), make([]umem.Frame, 64)); err != nil && !errors.Is(err, ErrNoInterface) {
		t.Errorf("reserve: %v", err)
	}
	if _, err := s.Stats(); err != nil {
		t.Error(err)
	}
	if _, err := s.Reap(); err != nil {
		t.Error(err)
	}
	if sn := s.Snapshot(); sn.Sum() != sn.Total || sn.Transmitting < 10 {
		t.Errorf("%v", sn)
	}
	start := time.Now()
	if err := s.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
		t.Error(err)
	}
	if took := time.Since(start); took > stall {
		t.Errorf("close took %v", took)
	}
}

// A sender meets the same end: whatever it is told on the way, it is told that
// the interface is gone in the end, and its frames come back.
func TestLifeGoneSending(t *testing.T) {
	for _, which := range []string{"own end", "other end"} {
		for _, v := range vanish {
			if which == "other end" && v.name == "moved" {
				continue // own link stays
			}
			t.Run(v.name+" "+which, func(t *testing.T) {
				testnet.Leaks(t)
				pair := testnet.TestPair(t, testnet.Config{})
				s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, TxFrames: 512, RxFrames: 64})
				tp := template(t, pair.B, pair.A)
				packet := datagram(&tp, 1, 200)
				end := make(chan error)
				sent := make(chan struct{})
				go func() { end <- sendForever(s, packet, 0, sent) }()
				<-sent
				target := &pair.B
				if which == "other end" {
					target = &pair.A
				}
				v.do(t, target)
				select {
				case err := <-end:
					refused(t, err, ErrNoInterface, "queue 0")
				case <-time.After(2 * time.Second):
					t.Error("the sender is not told")
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if sn := s.Snapshot(); sn.Sum() != sn.Total || sn.Transmitting+sn.Fill+sn.Out() != 0 {
					t.Errorf("after close: %v", sn)
				}
			})
		}
	}
}

// sendForever sends a packet over and over until an error that is neither a loss
// nor a link that is down, in batches with a pause after each. It closes sent
// after some.
func sendForever(s *Socket, packet []byte, pause time.Duration, sent chan struct{}) error {
	frames := make([]umem.Frame, 32)
	ctx, cancel := context.WithTimeout(context.Background(), childWait)
	defer cancel()
	for round := 0; ; round++ {
		n, err := s.ReserveContext(ctx, frames)
		if err != nil && !errors.Is(err, ErrLinkDown) && !errors.Is(err, ErrLost) {
			return err
		}
		for i, f := range frames[:n] {
			b, err := s.Area().Bytes(f)
			if err != nil {
				return err
			}
			frames[i] = f.WithLen(copy(b[:cap(b)], packet))
		}
		k, err := s.Send(frames[:n])
		if err := errors.Join(err, s.Release(frames[k:n])); err != nil {
			return err
		}
		if _, err := s.Flush(); err != nil && !errors.Is(err, ErrLinkDown) && !errors.Is(err, ErrLost) {
			return err
		}
		if round == 10 {
			close(sent)
		}
		time.Sleep(pause)
	}
}

// Case 99: who re-opens on an interface of the same name, by the same area, works,
// even before the old socket is closed.
func TestLifeRecreated(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Prefix: "re"})
	area, err := umem.New(umem.Config{Chunks: 1024})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Interface: pair.B.Name, Area: area, RxSize: 128, TxSize: 128}
	old, err := tryIn(pair.B.NS, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.B.Delete(); err != nil {
		t.Fatal(err)
	}
	fails(t, pair.B, cfg, ErrNoInterface, pair.B.Name)
	next := testnet.TestPair(t, testnet.Config{Prefix: "re"})
	if err := next.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	if err := next.B.Rename(pair.B.Name); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(next.B.SetUp(true), next.B.WaitUp()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := tryIn(next.B.NS, cfg)
		if err != nil {
			t.Fatal(err)
		}
		p, err := attach(next.B, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
		if err != nil {
			t.Fatal(err)
		}
		delivers(t, openRaw(t, next.A), next.A, next.B, s, 0, 100)
		if err := errors.Join(p.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if err := old.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		checkArea(t, area)
	}
	if err := area.Close(); err != nil {
		t.Error(err)
	}
}
