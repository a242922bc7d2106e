// SPDX-License-Identifier: MIT

package udp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// takeAll receives what is in the ring.
func takeAll(t testing.TB, q *Queue, each func(d *Received)) (n int) {
	t.Helper()
	ds := make([]Received, 3)
	for {
		k, err := q.Receive(ds)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			return n
		}
		for i := range ds[:k] {
			each(&ds[i])
		}
		n += k
		if err := q.Release(ds[:k]); err != nil {
			t.Fatal(err)
		}
	}
}

// reached waits until n datagrams of so many frames each have come to the socket,
// or were lost there, since it had the counts before.
func reached(t testing.TB, q *Queue, before xsk.Stats, n, frames int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		st, err := q.sock.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if int(st.RxFrames-before.RxFrames)+int(st.RxUsed) == (n-int(st.RxLost()-before.RxLost()))*frames {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of %d sent after %+v: %+v", n, before, st)
		}
	}
}

// Case 68: a burst that ring or chunks do not suffice for loses whole datagrams
// only, counted, and the next small one arrives; again and again.
func TestPagedRunsOut(t *testing.T) {
	for _, c := range []struct {
		name        string
		mtu, chunk  int
		size, parts int
	}{
		{"pages", 9000, 4096, 8000, 3},
		{"small chunks", 9000, 2048, 8000, 5},
		{"65507 bytes", 65535, 4096, 65507, 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLink(t, testnet.Config{MTU: c.mtu}, Config{ChunkSize: c.chunk, RingSize: 32})
			q, sent, got := l.c.queues[0], uint64(0), 0
			for range 20 {
				before, _ := q.sock.Stats()
				const burst = 20
				for range burst {
					sendWhole(t, l.peer, l.to, c.size)
				}
				reached(t, q, before, burst, c.parts)
				got += takeAll(t, q, func(d *Received) { checkWhole(t, d, c.size) })
				sendWhole(t, l.peer, l.to, 30)
				d := takeOne(t, q)
				checkWhole(t, &d, 30)
				q.Release([]Received{d})
				got++
				sent += burst + 1
			}
			st, _ := l.c.Stats()
			if s := st.Sockets[0]; st.FastRx != uint64(got) || uint64(got)+s.RxLost() != sent || s.RxRingFull+s.RxFillEmpty != s.RxLost() || s.RxLost() == 0 || s.RxTooBig() != 0 {
				t.Errorf("sent %d, got %d: %v, %+v", sent, got, st, s)
			}
		})
	}
}

// The fill ring runs out while the caller holds datagrams: those stay as they are,
// long ones are lost whole, and short ones still come while there is a chunk.
func TestPagedHeld(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: 4096, RingSize: 32})
	q := l.c.queues[0]
	var held []Received
	for range 10 { // 30 of 32 chunks
		sendWhole(t, l.peer, l.to, 8000)
		held = append(held, takeOne(t, q))
	}
	const lost = 5
	for range lost {
		sendWhole(t, l.peer, l.to, 8000)
	}
	sendWhole(t, l.peer, l.to, 31)
	d := takeOne(t, q)
	checkWhole(t, &d, 31)
	for i := range held {
		checkWhole(t, &held[i], 8000)
	}
	if st, _ := q.sock.Stats(); st.RxFillEmpty != lost || st.RxLost() != lost || st.RxTooBig() != 0 {
		t.Errorf("%+v", st)
	}
	if s := q.sock.Area().Snapshot(); s.Received != 31 || s.Sum() != s.Total {
		t.Errorf("%v", s)
	}
	if err := q.Release(append(held, d)); err != nil {
		t.Fatal(err)
	}
	if s := q.sock.Area().Snapshot(); s.Received != 0 || s.Sum() != s.Total {
		t.Errorf("%v", s)
	}
	sendWhole(t, l.peer, l.to, 8000)
	d = takeOne(t, q)
	checkWhole(t, &d, 8000)
	q.Release([]Received{d})
}

// Headers of long datagrams that lie, made by hand: too long is none, too short is
// cut, whole chunks of padding too, and damage in any chunk is found.
func TestPagedMalformed(t *testing.T) {
	for _, policy := range []RxChecksum{RxVerify, RxMark} {
		l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: 2048, RxChecksum: policy})
		raw, err := testnet.OpenRaw(l.pair.A)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		tp, err := packet.NewTemplate(packet.Config{SrcMAC: packet.MAC(l.pair.A.MAC), DstMAC: packet.MAC(l.pair.B.MAC), Src: l.from, Dst: l.to})
		if err != nil {
			t.Fatal(err)
		}
		const whole = 8000
		q, frame := l.c.queues[0], make([]byte, 42+whole)
		for _, c := range []struct {
			name     string
			size     int // of the datagram in the frame
			break_   int // byte that is damaged; 0: none
			ip, udp  int // added to the length fields
			want     int // bytes; -1: nothing comes
			badBytes bool
		}{
			{name: "as it should be", size: whole, want: whole},
			{name: "padding in the last chunk", size: whole - 1, want: whole - 1},
			{name: "a chunk of padding", size: 5000, want: 5000},
			{name: "padding after the first chunk", size: 1750, want: 1750},
			{name: "much padding", size: 1, want: 1},
			{name: "empty", size: 0, want: 0},
			{name: "longer than its IP packet", size: whole, udp: 1, want: -1},
			{name: "longer than the frame", size: whole, ip: 1, udp: 1, want: -1},
			{name: "damaged in the first chunk", size: whole, break_: 100, badBytes: true},
			{name: "damaged in a middle one", size: whole, break_: 42 + 4001, badBytes: true},
			{name: "damaged at the end", size: whole, break_: 42 + whole - 1, badBytes: true},
			{name: "damaged padding", size: 5000, break_: 42 + 5000, want: 5000},
		} {
			copy(frame[42:], pattern(c.size))
			tp.Put(frame[:42], frame[42:42+c.size])
			if c.ip != 0 {
				ip := frame[14:34]
				binary.BigEndian.PutUint16(ip[2:], uint16(28+c.size+c.ip))
				ip[10], ip[11] = 0, 0
				binary.BigEndian.PutUint16(ip[10:], ^packet.Sum(ip, 0))
			}
			binary.BigEndian.PutUint16(frame[38:], uint16(8+c.size+c.udp))
			if c.break_ > 0 {
				frame[c.break_] ^= 1
			}
			comes := !c.badBytes && c.want >= 0 || c.badBytes && policy == RxMark
			if err := raw.Send(frame); err != nil {
				t.Fatal(err)
			}
			if !comes {
				l.peer.WriteToUDPAddrPort(pattern(17), l.to) // the next that comes must be this
			}
			d := takeOne(t, q)
			switch {
			case !comes:
				checkWhole(t, &d, 17)
			case c.badBytes:
				if !d.BadChecksum || d.Len() != whole {
					t.Errorf("%s: %d bytes, bad %v", c.name, d.Len(), d.BadChecksum)
				}
			default:
				checkWhole(t, &d, c.want)
			}
			if err := q.Release([]Received{d}); err != nil {
				t.Fatal(err)
			}
			if s := q.sock.Area().Snapshot(); s.Received != 0 || s.Sum() != s.Total {
				t.Fatalf("%s: %v", c.name, s)
			}
		}
		st, _ := l.c.Stats()
		if st.BadChecksum != 3 {
			t.Errorf("%d bad checksums, want 3", st.BadChecksum)
		}
		if n := st.Program.Malformed; n != 2 {
			t.Errorf("%d malformed, want 2: %+v", n, st.Program)
		}
	}
}

// A datagram, or a copy of it, that is given back twice is told, also when its
// place is another's by then, on either lane.
func TestPagedTwice(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{RingSize: 64})
	q := l.c.queues[0]
	for name, send := range map[string]func(){
		"fast":   func() { sendWhole(t, l.peer, l.to, 8000) },
		"kernel": func() { sendWhole(t, l.peer, l.to, 20000) }, // in fragments
	} {
		send()
		first := takeOne(t, q)
		stale := first
		if err := q.Release([]Received{first}); err != nil {
			t.Fatal(err)
		}
		send()
		second := takeOne(t, q)
		again := [2]Received{stale, second}
		if err := q.Release(again[:]); !errors.Is(err, umem.ErrFrame) {
			t.Errorf("%s: a copy given back again: %v", name, err)
		}
		for range 3 { // places are not handed out twice
			send()
			send()
			a, b := takeOne(t, q), takeOne(t, q)
			if a.extra == b.extra {
				t.Fatalf("%s: two datagrams share a place", name)
			}
			if err := q.Release([]Received{a, b}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Two receivers, and others who give back: each datagram comes once and whole.
func TestPagedManyGoroutines(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{RingSize: 1024})
	q := l.c.queues[0]
	const total = 2000
	room := make(chan bool, 100) // not more under way than the ring holds
	var mu sync.Mutex
	seen := map[uint64]int{}
	done := make(chan []Received, 8)
	var readers, releasers sync.WaitGroup
	for g := range 2 {
		readers.Go(func() {
			ds := make([]Received, 1+4*g)
			for {
				n, err := q.ReceiveContext(nil, ds)
				if err != nil {
					return
				}
				for i := range ds[:n] {
					d := &ds[i]
					b := make([]byte, d.Len())
					d.Copy(b)
					no := binary.BigEndian.Uint64(b)
					binary.BigEndian.PutUint64(b, 0)
					for _, x := range b[8:] {
						if x != byte(no) {
							t.Errorf("datagram %d has bytes of another", no)
							break
						}
					}
					mu.Lock()
					seen[no]++
					all := len(seen) == total
					mu.Unlock()
					if <-room; all {
						q.SetReceiveDeadline(time.Now())
					}
				}
				done <- append([]Received(nil), ds[:n]...)
			}
		})
		releasers.Go(func() {
			for ds := range done {
				if err := q.Release(ds); err != nil {
					t.Error(err)
				}
			}
		})
	}
	q.SetReceiveDeadline(time.Now().Add(20 * time.Second))
	sendNumbered(t, l, total, room)
	readers.Wait()
	close(done)
	releasers.Wait()
	for no, n := range seen {
		if n != 1 {
			t.Errorf("datagram %d came %d times", no, n)
		}
	}
	if len(seen) != total {
		st, _ := l.c.Stats()
		t.Errorf("%d of %d came: %v", len(seen), total, st)
	}
}

// sendNumbered sends numbered datagrams, short and long, filled with their number,
// each when there is room.
func sendNumbered(t testing.TB, l *link, total int, room chan<- bool) {
	for no := range total {
		b := make([]byte, 8+no*37%8900)
		for i := range b {
			b[i] = byte(no)
		}
		binary.BigEndian.PutUint64(b, uint64(no))
		select {
		case room <- true:
		case <-time.After(10 * time.Second):
			t.Fatalf("datagrams are missing at number %d", no)
		}
		if _, err := l.peer.WriteToUDPAddrPort(b, l.to); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing on the way allocates.
func TestPagedNoAllocations(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: 2048})
	q, p := l.c.queues[0], l.c.PacketConn()
	ds, buf, ctx := make([]Received, batch), make([]byte, 9000), soon(t)
	to := netip.AddrPortFrom(l.to.Addr(), port)
	if n := testing.AllocsPerRun(200, func() {
		for range 5 {
			l.peer.WriteToUDPAddrPort(buf[:8000], to)
		}
		for got := 0; got < 5; {
			k, err := q.ReceiveContext(ctx, ds)
			if err != nil {
				t.Fatal(err)
			}
			q.Release(ds[:k])
			got += k
		}
	}); n != 0 {
		t.Errorf("%v allocations for five datagrams by the Queue", n)
	}
	os := make([]Outgoing, batch)
	if n := testing.AllocsPerRun(200, func() {
		l.peer.WriteToUDPAddrPort(buf[:8000], to)
		k, err := q.ReceiveContext(ctx, ds[:1])
		if k != 1 || err != nil || q.Reply(&ds[0], &os[0]) != nil {
			t.Fatal(k, err)
		}
		if k, err := q.Send(os[:1]); k != 1 || err != nil {
			t.Fatal(k, err)
		}
		if k, _, err := l.peer.ReadFromUDPAddrPort(buf); k != 8000 || err != nil {
			t.Fatal(k, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a reply", n)
	}
	if n := testing.AllocsPerRun(200, func() {
		l.peer.WriteToUDPAddrPort(buf[:8000], to)
		if k, _, err := p.ReadFromUDPAddrPort(buf); k != 8000 || err != nil {
			t.Fatal(k, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a datagram by the PacketConn", n)
	}
}
