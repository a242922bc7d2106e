// SPDX-License-Identifier: MIT

package udp

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/xsk"
)

// anyLocal receives both families.
var anyLocal = netip.AddrPortFrom(netip.IPv6Unspecified(), port)

// around are payload sizes about the ends of the first chunks of a size, small ones
// and the largest that an MTU lets through over IPv6.
func around(chunk, mtu int) (sizes []int) {
	room := chunk - kernelHeadroom
	most := mtu - 48
	for k := 1; k <= 18; k++ {
		for _, header := range []int{42, 62} {
			for off := -5; off <= 5; off++ {
				sizes = append(sizes, k*room-header+off)
			}
		}
		sizes = append(sizes, k) // small ones between them
	}
	sizes = append(sizes, 0, 1472, most-1, most)
	sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > most })
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// takeOne receives one datagram, into room for no more.
func takeOne(t testing.TB, q *Queue) Received {
	t.Helper()
	var ds [1]Received
	if n, err := q.ReceiveContext(soon(t), ds[:]); n != 1 || err != nil {
		t.Fatalf("%d datagrams: %v", n, err)
	}
	return ds[0]
}

// checkWhole looks at every byte of a datagram that should have n, and at how it
// is cut.
func checkWhole(t testing.TB, d *Received, n int) {
	t.Helper()
	joined := make([]byte, n+1)
	if got := d.Copy(joined); got != n || d.Len() != n || !bytes.Equal(joined[:got], pattern(n)) {
		t.Fatalf("%d bytes came as %d in %d segments, or others: %d", n, got, 1+len(d.Rest), d.Len())
	}
	if half := d.Copy(joined[:n/2]); half != n/2 {
		t.Fatalf("a copy of half has %d", half)
	}
	room := d.from.sock.Area().MaxFrame()
	want := (int(d.head) + n - 1) / room
	if len(d.Rest) != want || d.Rest != nil != (want > 0) || d.Lane != Fast {
		t.Fatalf("%d bytes: %d segments after the first, want %d (%v)", n, len(d.Rest), want, d.Lane)
	}
	for _, s := range d.Rest {
		if len(s) != cap(s) {
			t.Fatalf("a segment of %d bytes that can grow to %d", len(s), cap(s))
		}
	}
}

// Case 67: datagrams of every size about the ends of chunks come whole, from a
// kernel socket, over IPv4 and IPv6, in all modes of attaching, with checksums that
// the sender left to a device and with such that it computed.
func TestPaged(t *testing.T) {
	for _, c := range []struct {
		mtu, chunk int
		attach     bpf.Mode
		sums       bool
	}{
		{mtu: 9000, chunk: 4096, attach: bpf.Native},
		{mtu: 9000, chunk: 2048, attach: bpf.Native, sums: true},
		{mtu: 9000, chunk: 2048, attach: bpf.Generic},
		{mtu: 60000, chunk: 4096, attach: bpf.Native, sums: true},
		{mtu: 65535, chunk: 4096, attach: bpf.Native},
		{mtu: 32000, chunk: 2048, attach: bpf.Native},
	} {
		t.Run(fmt.Sprintf("mtu=%d chunk=%d %v sums=%v", c.mtu, c.chunk, c.attach, c.sums), func(t *testing.T) {
			l := newLink(t, testnet.Config{MTU: c.mtu, IPv6: true}, Config{Local: anyLocal, ChunkSize: c.chunk, Attach: c.attach, RingSize: 256})
			if err := l.pair.A.SetOffload(testnet.OffloadChecksum, !c.sums); err != nil {
				t.Fatal(err)
			}
			if i := l.c.Info(); !i.Sockets[0].MultiBuffer {
				t.Fatalf("not multi-buffer: %+v", i)
			}
			q, sent := l.c.queues[0], 0
			for _, to := range []netip.Addr{l.pair.B.IP4, l.pair.B.IP6} {
				from := l.peer
				if to.Is6() {
					from = kernelIn(t, l.pair.A.NS, netip.AddrPortFrom(l.pair.A.IP6, 4000))
				}
				for _, n := range around(c.chunk, c.mtu) {
					sendWhole(t, from, netip.AddrPortFrom(to, port), n)
					d := takeOne(t, q)
					checkWhole(t, &d, n)
					if err := q.Release([]Received{d}); err != nil {
						t.Fatal(err)
					}
					sent++
				}
			}
			st, err := l.c.Stats()
			if err != nil || st.FastRx != uint64(sent) || st.KernelRx+st.BadChecksum != 0 || len(st.Malformed) > 0 || st.Partial == 0 != c.sums {
				t.Errorf("sent %d: %v, partial %d, %v", sent, st, st.Partial, err)
			}
		})
	}
}

// sendWhole sends n bytes of the pattern.
func sendWhole(t testing.TB, from *net.UDPConn, to netip.AddrPort, n int) {
	t.Helper()
	if m, err := from.WriteToUDPAddrPort(pattern(n), to); m != n || err != nil {
		t.Fatalf("sending %d bytes: %d, %v", n, m, err)
	}
}

// The reads of a PacketConn join the segments, and cut as a socket does.
func TestPagedPacketConn(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{})
	p, buf := l.c.PacketConn(), make([]byte, 9000)
	for _, n := range []int{0, 10, 1749, 1750, 1751, 3541, 3542, 3543, 8972} {
		for _, room := range []int{9000, n, n - 1, n / 2} {
			if room < 0 {
				continue
			}
			sendWhole(t, l.peer, l.to, n)
			p.SetReadDeadline(time.Now().Add(5 * time.Second))
			got, _, flags, src, err := p.ReadMsgUDPAddrPort(buf[:room], nil)
			if err != nil || src != l.from || got != min(n, room) || !bytes.Equal(buf[:got], pattern(n)[:got]) {
				t.Errorf("%d bytes into %d: %d from %v, %v", n, room, got, src, err)
			}
			if short := flags&msgTrunc != 0; short != (n > room) {
				t.Errorf("%d bytes into %d: truncated %v", n, room, short)
			}
		}
	}
	if st, _ := l.c.Stats(); st.KernelRx != 0 {
		t.Errorf("%v", st)
	}
}

// Calls with room for few datagrams get the long ones too, between short ones,
// however they wait.
func TestPagedRoom(t *testing.T) {
	for _, w := range []xsk.Wait{xsk.Adaptive, xsk.Block, xsk.Busy} {
		l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: 2048, RingSize: 1024, Wait: w})
		sizes := []int{8000, 20, 8000, 8000, 30, 40, 50, 2000, 8000, 8000, 8000, 60}
		for room := 1; room <= 7; room++ {
			for _, n := range sizes {
				sendWhole(t, l.peer, l.to, n)
			}
			ds := make([]Received, room)
			for i := 0; i < len(sizes); {
				n, err := l.c.queues[0].ReceiveContext(soon(t), ds)
				if err != nil || n > room {
					t.Fatalf("%v: room %d, after %d: %d, %v", w, room, i, n, err)
				}
				for k := range ds[:n] {
					checkWhole(t, &ds[k], sizes[i])
					i++
				}
				l.c.queues[0].Release(ds[:n])
			}
		}
	}
}

// AF_XDP at both ends: every policy for checksums makes such as the receiver finds
// right, also where a datagram takes several frames and chunks differ.
func TestPagedBothEnds(t *testing.T) {
	for _, policy := range []TxChecksum{TxAuto, TxSoftware, TxNone, TxOffload} {
		_, a, b := twoConnsOn(t, testnet.Config{MTU: 9000}, Config{TxChecksum: policy, ChunkSize: 4096}, Config{ChunkSize: 2048})
		for _, ends := range [][2]*Conn{{a, b}, {b, a}} {
			tx, rx := ends[0], ends[1]
			resolve(t, tx, rx)
			before, _ := rx.Stats()
			for _, n := range []int{0, 1, 1500, 1900, 1920, 1921, 3000, 3798, 3968, 3969, 4001, 7999, 8972} {
				if _, err := tx.PacketConn().WriteToUDPAddrPort(pattern(n), rx.LocalAddr()); err != nil {
					t.Fatal(err)
				}
				d := takeOne(t, rx.queues[0])
				checkWhole(t, &d, n)
				rx.queues[0].Release([]Received{d})
			}
			if st, _ := rx.Stats(); st.BadChecksum != 0 || st.Partial-before.Partial > 2 {
				t.Errorf("policy %d: %d bad, %d partial", policy, st.BadChecksum, st.Partial)
			}
		}
	}
}

// Metadata lie before the first chunk of a chain.
func TestPagedMetadata(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{Metadata: bpf.MetadataAuto, Attach: bpf.Native, Timestamps: true})
	if l.c.Info().Program.Metadata == 0 {
		t.Skipf("driver or kernel offer no metadata: %v", l.c.Info().Program.Attempts)
	}
	var hash uint32
	for i, n := range []int{10, 8000, 4000, 8972} {
		sendWhole(t, l.peer, l.to, n)
		d := takeOne(t, l.c.queues[0])
		checkWhole(t, &d, n)
		m, ok := l.c.queues[0].Metadata(&d)
		if !ok || m.Fields&bpf.HasHash == 0 || i > 0 && m.Hash != hash || d.Time.IsZero() {
			t.Errorf("%d bytes: %v %+v at %v", n, ok, m, d.Time)
		}
		hash = m.Hash
		l.c.queues[0].Release([]Received{d})
	}
}
