// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// TestTrainOfOne is a datagram that all of the data fits into, however large Size is.
func TestTrainOfOne(t *testing.T) {
	s := newStudio(t, testnet.Config{}, Config{})
	data := s.slice(t, 1, 1000)
	for i, size := range []int{1000, 1001, math.MaxInt - 1000, math.MaxInt} {
		n, err := s.c.Queues()[0].SendTrain(soon(t), Train{Flow: s.flow, Data: data, Size: size, Cookie: uint64(i + 1)})
		if n != 1 || err != nil {
			t.Fatalf("size %d: %d, %v", size, n, err)
		}
		s.expect(t, fmt.Sprint("size ", size), data.Bytes())
		s.cookies(t, uint64(i+1))
	}
	n, err := s.c.Queues()[0].SendTrain(soon(t), Train{Flow: s.flow, Size: math.MaxInt, Cookie: 9})
	if n != 0 || err != nil {
		t.Fatalf("no data: %d, %v", n, err)
	}
	s.cookies(t, 9)
}

// TestGatherHeaderAlone has no slice, or only empty ones, by every policy.
func TestGatherHeaderAlone(t *testing.T) {
	for _, policy := range []GatherPolicy{GatherAuto, GatherAlways, GatherCopy} {
		s := newStudio(t, testnet.Config{}, Config{Gather: policy})
		for i, slices := range [][]umem.Slice{nil, {}, {{}}, {s.slice(t, 5, 0), {}}} {
			for _, header := range []string{"", "header"} {
				s.send(t, []Gather{{Header: []byte(header), Slices: slices, Flow: s.flow, Cookie: 1}})
				s.expect(t, fmt.Sprintf("policy %d, slices %d, header %q", policy, i, header), []byte(header))
				s.cookies(t, 1)
			}
		}
	}
}

// TestGatherBeyondUDP is refused before it is copied anywhere.
func TestGatherBeyondUDP(t *testing.T) {
	s := newStudio(t, testnet.Config{}, Config{})
	q := s.c.Queues()[0]
	all := s.slice(t, 0, regionBytes)
	n, err := q.SendGather([]Gather{{Slices: []umem.Slice{all}, Flow: s.flow, Cookie: 1}})
	if n != 1 || !errors.Is(err, syscall.EMSGSIZE) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := q.SendTrain(soon(t), Train{Flow: s.flow, Data: all, Size: regionBytes}); n != 0 || !errors.Is(err, syscall.EMSGSIZE) {
		t.Errorf("%d, %v", n, err)
	}
	if n := cap(q.flat); n > 1<<17 {
		t.Errorf("%d bytes are kept for nothing", n)
	}
}

// TestGatherWhileClosing sends in every way there is while the Conn closes: each call
// ends, each frame returns, and the area can be closed.
func TestGatherWhileClosing(t *testing.T) {
	for round := range 10 {
		s := newStudio(t, testnet.Config{MTU: 9000}, Config{})
		q, data := s.c.Queues()[0], s.slice(t, 77, 100000)
		pacer, err := NewPacer(PacerConfig{Rate: 1e5})
		if err != nil {
			t.Fatal(err)
		}
		long := make([]byte, 8000)
		one := func(send func([]Outgoing) (int, error)) func() error {
			return func() error {
				var o [1]Outgoing
				if n, err := q.Reserve(o[:]); n == 0 {
					return err
				}
				o[0].Flow, o[0].Payload = s.flow, long
				n, err := send(o[:])
				if n == 0 || o[0].Payload != nil {
					err = errors.Join(err, q.Abort(o[:]))
				}
				return err
			}
		}
		senders := []func() error{
			func() error {
				_, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 8000, Cookie: 1})
				return err
			},
			func() error {
				_, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 8000, Cookie: 1, Pacer: pacer})
				return err
			},
			func() error {
				_, err := q.SendGather([]Gather{{Header: long[:100], Slices: nil, Flow: s.flow, Cookie: 2}})
				return err
			},
			one(func(os []Outgoing) (int, error) { return q.Send(os) }),
			one(func(os []Outgoing) (int, error) { return q.SendPaced(nil, os, pacer) }),
		}
		var wg sync.WaitGroup
		ended := make(chan error, len(senders))
		for _, send := range senders {
			wg.Go(func() {
				for {
					if err := send(); errors.Is(err, net.ErrClosed) {
						ended <- err
						return
					}
					var got [64]uint64
					q.Completed(got[:])
				}
			})
		}
		time.Sleep(time.Duration(round) * 1000 * time.Microsecond)
		if err := s.c.Close(); err != nil && !errors.Is(err, umem.ErrFramesOut) { // those that the senders hold
			t.Errorf("round %d: %v", round, err)
		}
		wg.Wait()
		if snap := s.area.Snapshot(); snap.Out() > 0 || snap.Sum() != snap.Total {
			t.Fatalf("round %d: %v", round, snap)
		}
	}
}

// TestGatherIPv6 has a checksum over odd pieces, which IPv6 cannot go without.
func TestGatherIPv6(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000, IPv6: true}, Config{Gather: GatherAlways, Local: netip.AddrPortFrom(netip.IPv6Unspecified(), port)})
	s.readOnly(t)
	peer := kernelIn(t, s.pair.A.NS, netip.AddrPortFrom(s.pair.A.IP6, 4001))
	if err := peer.SetReadBuffer(4 << 20); err != nil {
		t.Fatal(err)
	}
	s.peer = peer
	flow := s.c.Flow(netip.AddrPortFrom(s.pair.A.IP6, 4001))
	s.settle(t, flow)
	for round := range 200 {
		var ps []umem.Slice
		var all []byte
		at := round
		for i := range 1 + round%8 {
			n := (round*31+i*97)%500*2 + 1 // odd, each
			p := s.slice(t, at, n)
			ps, all, at = append(ps, p), append(all, p.Bytes()...), at+n+13
		}
		header := []byte("odd")[:round%4%3]
		s.send(t, []Gather{{Header: header, Slices: ps, Flow: flow, Cookie: 1}})
		s.expect(t, fmt.Sprint("round ", round), header, all)
		s.cookies(t, 1)
	}
	if st := s.stats(t); st.KernelTx > 0 {
		t.Errorf("%d by the kernel", st.KernelTx)
	}
}

// TestGatherSmallRing sends packets of 18 descriptors by a ring of 32.
func TestGatherSmallRing(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000}, Config{Gather: GatherAlways, RingSize: 32, TxFrames: 32})
	var ps []umem.Slice
	var all []byte
	for i := range 17 {
		p := s.slice(t, 301*i, 100+i)
		ps, all = append(ps, p), append(all, p.Bytes()...)
	}
	const count = 300
	done := make(chan error, 1)
	// Each counts as a page and more for every piece in the peer's buffer.
	ahead := make(chan struct{}, 30)
	go func() {
		q, sent := s.c.Queues()[0], 0
		for end := time.Now().Add(10 * time.Second); sent < count; {
			gs := make([]Gather, min(count-sent, 3))
			for i := range gs {
				gs[i] = Gather{Slices: ps[:17-(sent+i)%3], Flow: s.flow, Cookie: uint64(sent + i + 1)}
			}
			n, err := q.SendGather(gs)
			if sent += n; err != nil || time.Now().After(end) {
				done <- fmt.Errorf("%d sent: %w", sent, err)
				return
			}
			for range n {
				ahead <- struct{}{}
			}
		}
		done <- nil
	}()
	for i := range count {
		k := 0
		for j := range 17 - i%3 {
			k += 100 + j
		}
		s.expect(t, fmt.Sprint("datagram ", i), all[:k])
		<-ahead
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want := make([]uint64, count)
	for i := range want {
		want[i] = uint64(i + 1)
	}
	s.cookies(t, want...)
}

// TestAreaWithHeadroom has more of it than headers take, and the same area serves one
// Conn after another.
func TestAreaWithHeadroom(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{MTU: 9000})
	for _, headroom := range []int{64, 128, 129, 500, 1000} {
		area, err := umem.New(umem.Config{Headroom: headroom, Chunks: 64 + 256})
		if err != nil {
			t.Fatal(err)
		}
		region, err := area.NewRegion(64 * 2048)
		if err != nil {
			t.Fatal(err)
		}
		for i := range region.Bytes() {
			region.Bytes()[i] = byte(i*7 + i>>8)
		}
		for range 3 {
			s := &studio{area: area, region: region, source: region.Bytes()}
			s.link = newLinkOn(t, pair, Config{Area: area, RingSize: 128})
			s.settle(t, s.c.Flow(s.from))
			s.flow = s.c.Flow(s.from)
			q := s.c.Queues()[0]
			for _, n := range []int{0, 1, s.c.PayloadRoom() - 1, s.c.PayloadRoom(), s.c.PayloadRoom() + 1, 5000, min(s.flow.MaxPayload(), 8972)} {
				var o [1]Outgoing
				if _, err := q.ReserveContext(soon(t), o[:]); err != nil {
					t.Fatal(err)
				}
				if o[0].Flow = s.flow; len(o[0].Payload) != s.c.PayloadRoom() {
					t.Fatal(len(o[0].Payload), s.c.PayloadRoom())
				}
				if n <= len(o[0].Payload) {
					o[0].Payload = o[0].Payload[:copy(o[0].Payload, s.source[:n])]
				} else {
					o[0].Payload = s.source[:n]
				}
				if k, err := q.Send(o[:]); k != 1 || err != nil {
					t.Fatal(n, k, err)
				}
				s.expect(t, fmt.Sprint("headroom ", headroom, ": ", n), s.source[:n])
				s.send(t, []Gather{{Header: s.source[:3], Slices: []umem.Slice{s.slice(t, 2040, max(n-3, 0))}, Flow: s.flow, Cookie: 1}})
				s.expect(t, fmt.Sprint("headroom ", headroom, " gathered: ", n), s.source[:3], s.source[2040:2040+max(n-3, 0)])
				s.cookies(t, 1)
				if n >= 3 { // and back
					sendWhole(t, s.peer, s.to, n)
					d := takeOne(t, q)
					checkWhole(t, &d, n)
					if err := q.Reply(&d, &o[0]); err != nil {
						t.Fatal(err)
					}
					if k, err := q.Send(o[:]); k != 1 || err != nil {
						t.Fatal(n, k, err)
					}
					s.expect(t, fmt.Sprint("headroom ", headroom, " reply: ", n), pattern(n))
				}
			}
			s.peer.Close()
			if err := s.c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := area.Close(); err != nil {
			t.Error(err)
		}
	}
}
