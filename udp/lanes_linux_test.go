// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Within one batch a datagram of the kernel lane does not overtake those of the
// fast lane before it, nor they it.
func TestLanesKeepOrder(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	arrives(t, l, l.c.PacketConn(), l.peer, l.from)
	f, q := l.c.Flow(l.from), l.c.queues[0]
	os := make([]Outgoing, 6)
	if n, err := q.ReserveContext(soon(t), os); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	var want, got []string
	for i := range os {
		os[i].Flow, os[i].Payload = f, os[i].Payload[:100]
		if i == 3 {
			os[i].Payload = make([]byte, 3000) // over the MTU
		}
		copy(os[i].Payload, fmt.Sprint(i))
		want = append(want, fmt.Sprint(i, " ", len(os[i].Payload)))
	}
	if n, err := q.Send(os); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	buf := make([]byte, 4096)
	l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
	for range os {
		n, err := l.peer.Read(buf)
		if err != nil {
			t.Fatal(err, got)
		}
		got = append(got, fmt.Sprintf("%c %d", buf[0], n))
	}
	if !slices.Equal(got, want) {
		t.Errorf("arrived %q, want %q", got, want)
	}
}

// fragmented sends a datagram that the kernel lane receives, and returns it.
func fragmented(t *testing.T, l *link, q *Queue, s string) []Received {
	t.Helper()
	big := make([]byte, 3000)
	copy(big, s)
	l.peer.WriteToUDPAddrPort(big, l.to)
	ds := make([]Received, 1)
	if n, err := q.ReceiveContext(soon(t), ds); n != 1 || err != nil || ds[0].Lane != Kernel {
		t.Fatal(n, err)
	}
	return ds
}

// A datagram of the kernel lane that was replied to is gone: releasing it again is
// an error and frees nobody else's.
func TestReplyToKernelLane(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	q := l.c.queues[0]
	first := fragmented(t, l, q, "first")
	os := make([]Outgoing, 1)
	if err := q.Reply(&first[0], &os[0]); err != nil {
		t.Fatal(err)
	}
	second := fragmented(t, l, q, "second")
	if err := q.Release(first); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("released after the reply: %v", err)
	}
	third := fragmented(t, l, q, "third")
	if got := string(second[0].Payload[:6]); got != "second" {
		t.Errorf("a held datagram reads %q", got)
	}
	if n, err := q.Send(os); n != 1 || err != nil {
		t.Error(n, err)
	}
	buf := make([]byte, 4000)
	l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
	if n, err := l.peer.Read(buf); err != nil || n != 3000 || string(buf[:5]) != "first" {
		t.Errorf("reply of %d bytes: %v", n, err)
	}
	if err := errors.Join(q.Release(second), q.Release(third)); err != nil {
		t.Error(err)
	}
}

// A reply by another queue than the datagram came through.
func TestReplyByOtherQueue(t *testing.T) {
	l := newLink(t, testnet.Config{Queues: 2}, Config{})
	l.peer.WriteToUDPAddrPort([]byte("question"), l.to)
	ds, os := make([]Received, 1), make([]Outgoing, 1)
	for i, q := range l.c.queues {
		for end := time.Now().Add(time.Second); time.Now().Before(end) && !ds[0].held; {
			if n, err := q.Receive(ds); err != nil || n == 1 {
				break
			}
		}
		if !ds[0].held {
			continue
		}
		other := l.c.queues[1-i]
		if err := other.Reply(&ds[0], &os[0]); err != nil {
			t.Fatal(err)
		}
		if n, err := other.Send(os); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		buf := make([]byte, 100)
		l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
		if n, err := l.peer.Read(buf); err != nil || string(buf[:n]) != "question" {
			t.Errorf("%q: %v", buf[:n], err)
		}
		return
	}
	t.Fatal("nothing came")
}

// The kernel lane is heard soon in every way of waiting, with the fast lane silent
// and with it busy.
func TestKernelLaneIsHeard(t *testing.T) {
	for _, w := range []xsk.Wait{xsk.Adaptive, xsk.Block, xsk.Busy} {
		for _, busy := range []bool{false, true} {
			l := newLink(t, testnet.Config{}, Config{Wait: w})
			q := l.c.queues[0]
			stop := make(chan struct{})
			if busy {
				go func() {
					for {
						select {
						case <-stop:
							return
						default:
							l.peer.WriteToUDPAddrPort([]byte("noise"), l.to)
						}
					}
				}()
			}
			var waits []time.Duration
			big, ds := make([]byte, 3000), make([]Received, 1) // no room beside a datagram of the ring
			for range 15 {
				at := time.Now()
				l.peer.WriteToUDPAddrPort(big, l.to)
				for heard := false; !heard; {
					n, err := q.ReceiveContext(soon(t), ds)
					if err != nil {
						t.Fatal(err)
					}
					heard = ds[0].Lane == Kernel
					q.Release(ds[:n])
				}
				waits = append(waits, time.Since(at))
			}
			close(stop)
			slices.Sort(waits)
			if m := waits[len(waits)/2]; m > 50*time.Millisecond {
				t.Errorf("waiting %v, ring busy %v: heard after %v", w, busy, waits)
			}
		}
	}
}

// A peer with a link-local address is known by its frames, which have no zone.
func TestLinkLocalPeer(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	la, lb := linkLocal(t, pair.A), linkLocal(t, pair.B)
	c := listenIn(t, pair.B.NS, Config{
		Interface: pair.B.Name, Local: netip.AddrPortFrom(lb.WithZone(pair.B.Name), port),
		Remote: netip.AddrPortFrom(la.WithZone(pair.B.Name), 4000),
	})
	peer := kernelIn(t, pair.A.NS, netip.AddrPortFrom(la.WithZone(pair.A.Name), 4000))
	p, buf := c.PacketConn(), make([]byte, 100)
	for range 5 {
		if _, err := peer.WriteToUDPAddrPort([]byte("hello"), netip.AddrPortFrom(lb.WithZone(pair.A.Name), port)); err != nil {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, src, err := p.ReadFromUDPAddrPort(buf)
		if err != nil || string(buf[:n]) != "hello" || src != c.RemoteAddr() {
			st, _ := c.Stats()
			t.Fatalf("%q from %v: %v; %v", buf[:n], src, err, st)
		}
	}
	if st, _ := c.Stats(); st.FastRx != 5 {
		t.Errorf("%v", st)
	}
}

// linkLocal is the link-local address of an end, without a zone.
func linkLocal(t *testing.T, end testnet.End) (a netip.Addr) {
	t.Helper()
	if err := end.NS.Do(func() error {
		i, err := net.InterfaceByName(end.Name)
		if err != nil {
			return err
		}
		addrs, err := i.Addrs()
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().IsLinkLocalUnicast() {
				a = p.Addr()
			}
		}
		return err
	}); err != nil || !a.IsValid() {
		t.Fatalf("no link-local address: %v", err)
	}
	return a
}
