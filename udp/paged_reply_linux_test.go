// SPDX-License-Identifier: MIT

package udp

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// A replyChange is what a program does with a reply before it sends it.
type replyChange struct {
	name   string
	change func(o *Outgoing)
	copied bool // it cannot leave in the frames that it came in
}

func replyChanges() []replyChange {
	other := pattern(5000)
	return []replyChange{
		{name: "as it is", change: func(*Outgoing) {}},
		{name: "changed", change: func(o *Outgoing) {
			for _, s := range append([][]byte{o.Payload}, o.Rest...) {
				for i := range s {
					s[i] ^= 0x55
				}
			}
		}},
		{name: "cut in the first", change: func(o *Outgoing) { o.Payload = o.Payload[:len(o.Payload)/2] }},
		{name: "empty", change: func(o *Outgoing) { o.Payload = o.Payload[:0] }},
		{name: "without the rest", change: func(o *Outgoing) { o.Rest = nil }},
		{name: "without the last", change: func(o *Outgoing) { o.Rest = o.Rest[:len(o.Rest)-1] }},
		{name: "cut in the last", change: func(o *Outgoing) { s := &o.Rest[len(o.Rest)-1]; *s = (*s)[:1] }},
		{name: "nothing of the last", change: func(o *Outgoing) { o.Rest[len(o.Rest)-1] = nil }, copied: true},
		{name: "the end of the last", change: func(o *Outgoing) { s := &o.Rest[len(o.Rest)-1]; *s = (*s)[len(*s)-1:] }, copied: true},
		{name: "one segment from beyond", change: func(o *Outgoing) { o.Rest[0] = other[:777] }, copied: true},
		{name: "more segments", change: func(o *Outgoing) { o.Rest = append(o.Rest, other[:50]) }, copied: true},
		{name: "long, from beyond", change: func(o *Outgoing) { o.Payload = other }, copied: true},
		{name: "short, from beyond", change: func(o *Outgoing) { o.Payload = other[:9] }, copied: true},
		{name: "with a type of service", change: func(o *Outgoing) { o.TOS = 0x10 }},
	}
}

// Replies to datagrams of several chunks: as they are, cut anywhere, changed, and in
// other memory; in place as far as that can be. Nothing is lost or held on the way.
func TestPagedReply(t *testing.T) {
	for _, cfg := range []Config{{ChunkSize: 2048}, {ChunkSize: 4096}, {ChunkSize: 2048, TxChecksum: TxOffload}, {ChunkSize: 4096, TxChecksum: TxNone}} {
		cfg.RingSize = 64
		l := newLink(t, testnet.Config{MTU: 9000}, cfg)
		arrives(t, l, l.c.PacketConn(), l.peer, l.from)
		l.c.cfg.Coalesce.Delay = time.Minute // so that frames are seen before they leave
		room := cfg.ChunkSize - kernelHeadroom - 42
		for _, c := range replyChanges() {
			for _, n := range []int{room + 2, room + 100, 8000, 8900} {
				replies(t, l, n, c)
			}
		}
		allBack(t, l.c.queues[0])
	}
}

// replies sends a datagram of n bytes, and looks at what its reply is.
func replies(t *testing.T, l *link, n int, c replyChange) {
	t.Helper()
	q, os := l.c.queues[0], make([]Outgoing, 1)
	sendWhole(t, l.peer, l.to, n)
	d := takeOne(t, q)
	received := d
	if err := q.Reply(&d, &os[0]); err != nil {
		t.Fatal(err)
	}
	c.change(&os[0])
	want := slices.Concat(os[0].Payload, slices.Concat(os[0].segments()...))
	free := func() int { return q.sock.TxPool().Free() + len(q.spare) }
	before, sent := free(), os[0]
	if k, err := q.Send(os); k != 1 || err != nil || os[0].Payload != nil || os[0].Rest != nil {
		t.Fatalf("%d bytes, %s: %v", n, c.name, err)
	}
	if copied := free() != before; copied != c.copied {
		t.Errorf("%d bytes, %s: copied %v", n, c.name, copied)
	}
	if err := q.Flush(); err != nil {
		t.Fatal(err)
	}
	replied(t, l, want)
	for name, err := range map[string]error{
		"released":  q.Release([]Received{received}),
		"turned":    q.Reply(&received, new(Outgoing)),
		"given up":  q.Abort([]Outgoing{sent}),
		"sent once": sendOnly(q, sent),
	} {
		if !errors.Is(err, umem.ErrFrame) {
			t.Errorf("%d bytes, %s: a copy was %s: %v", n, c.name, name, err)
		}
	}
}

func sendOnly(q *Queue, o Outgoing) error {
	_, err := q.Send([]Outgoing{o})
	return err
}

// replied reads one datagram at the peer.
func replied(t *testing.T, l *link, want []byte) {
	t.Helper()
	buf := make([]byte, 1<<16)
	l.peer.SetReadDeadline(time.Now().Add(5 * time.Second))
	got, src, err := l.peer.ReadFromUDPAddrPort(buf)
	if err != nil || src != l.to || !bytes.Equal(buf[:got], want) {
		t.Fatalf("a reply of %d bytes came as %d from %v: %v", len(want), got, src, err)
	}
}

// allBack waits until nothing is under way any more, and wants all chunks there.
func allBack(t *testing.T, q *Queue) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		q.sock.Reap()
		s := q.sock.Area().Snapshot()
		if s.Transmitting+s.Received == 0 && s.Reserved == len(q.spare) && s.Sum() == s.Total {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v, %d spare", s, len(q.spare))
		}
	}
}

// A batch of long replies that the ring has no room for at once leaves bit by bit,
// and so does one that goes to another family, or to whom the fast lane does not
// lead any more.
func TestPagedReplies(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000, IPv6: true}, Config{Local: anyLocal, ChunkSize: 2048, RingSize: 64})
	q := l.c.queues[0]
	l6 := &link{pair: l.pair, c: l.c, to: netip.AddrPortFrom(l.pair.B.IP6, port)}
	l6.peer = kernelIn(t, l.pair.A.NS, netip.AddrPortFrom(l.pair.A.IP6, 4000))
	for _, l := range []*link{l, l6} {
		for range 20 {
			const n = 10
			ds, os := make([]Received, n), make([]Outgoing, n)
			for i := range ds {
				sendWhole(t, l.peer, l.to, 8000+i)
				ds[i] = takeOne(t, q)
				if err := q.Reply(&ds[i], &os[i]); err != nil {
					t.Fatal(err)
				}
			}
			for sent := 0; sent < n; {
				k, err := q.Send(os[sent:])
				if err != nil {
					t.Fatal(err)
				}
				sent += k
			}
			for i := range ds {
				replied(t, l, pattern(8000+i))
			}
		}
	}
	// The MTU shrinks between request and reply: by the kernel, in fragments.
	sendWhole(t, l.peer, l.to, 8000)
	d, os := takeOne(t, q), make([]Outgoing, 1)
	if err := q.Reply(&d, &os[0]); err != nil {
		t.Fatal(err)
	}
	l.setMTU(t, 1500)
	awaitEvent(t, l.c, "MTU changed")
	if n, err := q.Send(os); n != 1 || err != nil {
		t.Fatal(err)
	}
	replied(t, l, pattern(8000))
	// Given up.
	l.setMTU(t, 9000)
	sendWhole(t, l.peer, l.to, 8000)
	if d = takeOne(t, q); q.Reply(&d, &os[0]) != nil || q.Abort(os) != nil {
		t.Error("not given up")
	}
	allBack(t, q)
}

// A reply by another queue than the one that it came on is copied.
func TestPagedReplyElsewhere(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000, Queues: 2}, Config{})
	for _, from := range l.c.queues {
		for _, by := range l.c.queues {
			// Which queue a flow comes on is the kernel's choice.
			var d Received
			for p := uint16(4100); d.from != from; p++ {
				l.peer = kernelIn(t, l.pair.A.NS, netip.AddrPortFrom(l.pair.A.IP4, p))
				sendWhole(t, l.peer, l.to, 8000)
				var ds [1]Received
				if n, err := l.c.in.receiveContext(soon(t), ds[:]); n != 1 || err != nil {
					t.Fatal(err)
				}
				if d = ds[0]; d.from != from {
					d.from.Release(ds[:])
					l.peer.Close()
				}
			}
			os := make([]Outgoing, 1)
			if err := by.Reply(&d, &os[0]); err != nil {
				t.Fatal(err)
			}
			if n, err := by.Send(os); n != 1 || err != nil {
				t.Fatal(err)
			}
			replied(t, l, pattern(8000))
			l.peer.Close()
		}
	}
	for _, q := range l.c.queues {
		allBack(t, q)
	}
}
