// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// ticker sends numbered datagrams, a few a millisecond, until ctx ends, and
// returns how many.
func ticker(ctx context.Context, raw *testnet.Raw, tp packet.Template, each int, next *atomic.Uint64) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for range each {
			if err := raw.Send(datagram(&tp, next.Add(1)-1, 64)); err != nil {
				return err
			}
		}
	}
}

// Case 72: from the moment that the socket is open and in the queue map, nothing
// is lost.
func TestLifeFirstPackets(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	raw := openRaw(t, pair.A)
	ctx, cancel := context.WithCancel(context.Background())
	var next atomic.Uint64
	end := make(chan error)
	go func() { end <- ticker(ctx, raw, template(t, pair.A, pair.B), 2, &next) }()
	for range 10 {
		s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name})
		if err != nil {
			t.Fatal(err)
		}
		p, err := attach(pair.B, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
		if err != nil {
			t.Fatal(err)
		}
		from := next.Load() // not sent yet
		seqs := collect(t, s, 100)
		for i, seq := range seqs {
			if i == 0 && seq > from || i > 0 && seq != seqs[i-1]+1 {
				t.Fatalf("%d was not sent yet when the socket was ready, and these came: %d", from, seqs)
			}
		}
		if st, _ := s.Stats(); st.RxLost() != 0 {
			t.Errorf("%+v", st)
		}
		if err := errors.Join(p.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-end; err != nil {
		t.Error(err)
	}
}

// Case 102: opening and closing in a flood, with only the queue map's entry or
// the whole program going first: no trouble in the kernel, no frame lost count
// of, and what is for others gets there.
func TestLifeCloseInFlood(t *testing.T) {
	for _, first := range []string{"map entry", "program"} {
		t.Run(first, func(t *testing.T) {
			testnet.Leaks(t)
			log := openKernelLog(t)
			pair := testnet.TestPair(t, testnet.Config{})
			tx := openIn(t, pair.A.NS, Config{Interface: pair.A.Name, Direction: TransmitOnly})
			tp := template(t, pair.A, pair.B)
			sent, stop := make(chan struct{}), make(chan error)
			go func() { stop <- sendForever(tx, datagram(&tp, 1, 64), floodPause, sent) }()
			<-sent
			others := listenKernel(t, pair)

			var p *bpf.Program
			var err error
			for round := range 25 {
				if p == nil {
					if p, err = attach(pair.B, bpf.Config{}, anyPort, nil); err != nil {
						t.Fatal(err)
					}
				}
				s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, RxSize: 256, TxSize: 32, BusyWait: childWait})
				if err != nil {
					t.Fatal(err)
				}
				if err := p.SetQueue(0, s.FD()); err != nil {
					t.Fatal(err)
				}
				collect(t, s, 100)
				if first == "program" {
					err = p.Close()
					p = nil
				} else {
					err = p.ClearQueue(0)
				}
				if err := errors.Join(err, s.Close()); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				checkArea(t, s.area)
				if first == "map entry" {
					others.exchange(t, round)
				}
			}
			if p != nil {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := tx.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) {
				t.Error(err)
			}
			if err := <-stop; !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			log.check(t)
		})
	}
}

// floodPause leaves the kernel some time for what it does in the background: it
// gives up queues and RCU grace periods end there.
const floodPause = 100 * time.Microsecond

// exchanger passes datagrams through two ordinary sockets.
type exchanger struct{ from, to *net.UDPConn }

// listenKernel opens an ordinary socket at each end, on a port that is not ours.
func listenKernel(t *testing.T, pair *testnet.Pair) exchanger {
	t.Helper()
	var e exchanger
	err := pair.B.NS.Do(func() (err error) {
		e.to, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(pair.B.IP4, port+1)))
		return err
	})
	if err == nil {
		err = pair.A.NS.Do(func() (err error) {
			e.from, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(pair.B.IP4, port+1)))
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.from.Close(); e.to.Close() })
	return e
}

// exchange passes one datagram. The link drops some in the flood.
func (e exchanger) exchange(t *testing.T, round int) {
	t.Helper()
	want := fmt.Sprint("round ", round)
	buf := make([]byte, 100)
	until(t, "a datagram of others arrives", func() bool {
		if _, err := e.from.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		e.to.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := e.to.Read(buf)
		return err == nil && string(buf[:n]) == want
	})
}

// kernelLog reads what the kernel has logged since it was opened.
type kernelLog struct{ fd int }

func openKernelLog(t *testing.T) kernelLog {
	t.Helper()
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Logf("the kernel's log is not looked at: %v", err)
		return kernelLog{-1}
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.Seek(fd, 0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	return kernelLog{fd}
}

// check fails the test if the kernel has complained.
func (l kernelLog) check(t *testing.T) {
	t.Helper()
	buf := make([]byte, 8192)
	for l.fd >= 0 {
		n, err := unix.Read(l.fd, buf)
		if err == unix.EPIPE {
			continue // records were overwritten
		}
		if err != nil {
			return
		}
		for _, bad := range []string{"BUG:", "WARNING:", "Oops", "Call Trace", "refcount_t", "unregister_netdevice: waiting"} {
			if strings.Contains(string(buf[:n]), bad) {
				t.Errorf("the kernel says %s", buf[:n])
			}
		}
	}
}

// Case 110: frames that one socket received are given back through another that
// shares the area, by another goroutine, and none is lost.
func TestLifeCrossRelease(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	area, err := umem.New(umem.Config{Chunks: 256})
	if err != nil {
		t.Fatal(err)
	}
	var rx, tx [2]*Socket
	for q := range rx {
		rx[q] = openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Queue: q, Area: area, RxSize: 64, RxFrames: 64, Direction: ReceiveOnly})
		tx[q] = openIn(t, pair.A.NS, Config{Interface: pair.A.Name, Queue: q, Direction: TransmitOnly, TxSize: 64})
	}
	redirect(t, pair.B, bpf.Config{}, rx[:]...)
	const rounds, burst = 200, 32
	tp := template(t, pair.A, pair.B)
	var all sync.WaitGroup
	for q := range rx {
		back, done := make(chan []umem.Frame, 1), make(chan struct{})
		all.Go(func() {
			for frames := range back {
				if err := rx[1-q].Release(frames); err != nil {
					t.Error(err)
				}
				done <- struct{}{}
			}
		})
		all.Go(func() {
			defer close(back)
			for round := range rounds {
				passBurst(t, tx[q], rx[q], datagrams(&tp, round*burst, burst), func(frames []umem.Frame) {
					back <- frames
					<-done
				})
			}
		})
	}
	all.Wait()
	for q := range rx {
		if st, _ := rx[q].Stats(); st.RxPackets != rounds*burst || st.RxLost() != 0 {
			t.Errorf("queue %d: %+v", q, st)
		}
	}
}

// datagrams makes n datagrams numbered from from on.
func datagrams(tp *packet.Template, from, n int) (list [][]byte) {
	for i := range n {
		list = append(list, datagram(tp, uint64(from+i), 64))
	}
	return list
}

// passBurst sends packets one by one to a socket with as full a fill ring as can
// be, receives them in small batches and gives each to back.
func passBurst(t *testing.T, tx, rx *Socket, packets [][]byte, back func([]umem.Frame)) {
	t.Helper()
	// Who holds the ring's lock refills it for others, when it is his turn to run.
	until(t, "the fill ring is full", func() bool {
		_, err := rx.Receive(nil)
		st, _ := rx.Stats()
		return err == nil && st.FillUsed == rx.Info().FillSize
	})
	send(t, tx, 1, packets...)
	for len(packets) > 0 {
		frames := make([]umem.Frame, 8)
		n, err := rx.ReceiveContext(within(t, childWait), frames)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range frames[:n] {
			if b, err := rx.Area().Bytes(f); err != nil || string(b) != string(packets[i]) {
				t.Errorf("%v: another datagram than the one expected, or %v", rx, err)
			}
		}
		packets = packets[n:]
		back(frames[:n])
	}
}

// A receiver that sleeps over an empty fill ring, all frames being out, goes on
// when another socket gives them back.
func TestLifeStarved(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	area, err := umem.New(umem.Config{Chunks: 64})
	if err != nil {
		t.Fatal(err)
	}
	small := Config{Interface: pair.B.Name, Area: area, RxSize: 16, Direction: ReceiveOnly, Wait: Block}
	s := openIn(t, pair.B.NS, small)
	small.Queue = 1
	other := openIn(t, pair.B.NS, small)
	tx := openIn(t, pair.A.NS, Config{Interface: pair.A.Name, Direction: TransmitOnly, TxSize: 64})
	redirect(t, pair.B, bpf.Config{}, s)
	tp := template(t, pair.A, pair.B)
	for i := range 16 {
		send(t, tx, 1, datagram(&tp, uint64(i), 64))
	}
	until(t, "16 arrive", func() bool { st, _ := s.Stats(); return st.RxUsed == 16 })
	all := make([]umem.Frame, 16)
	if n, err := s.Receive(all); n != 16 || err != nil {
		t.Fatal(n, err)
	}
	got := make(chan error)
	go func() {
		frames := make([]umem.Frame, 16)
		n, err := s.ReceiveContext(within(t, childWait), frames)
		got <- errors.Join(err, s.Release(frames[:n]))
	}()
	until(t, "the receiver sleeps", func() bool { st, _ := s.Stats(); return st.Sleeps > 0 })
	if err := other.Release(all); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for seq := uint64(16); ; seq++ {
		send(t, tx, 1, datagram(&tp, seq, 64))
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Millisecond):
		}
		if time.Since(start) > 2*time.Second {
			t.Fatal("the receiver sleeps on")
		}
	}
}
