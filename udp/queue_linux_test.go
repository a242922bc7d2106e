// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// twoConns is a Conn on either end of a pair.
func twoConns(t testing.TB, a, b Config) (pair *testnet.Pair, ca, cb *Conn) {
	t.Helper()
	return twoConnsOn(t, testnet.Config{}, a, b)
}

// twoConnsOn is twoConns on a pair of another kind.
func twoConnsOn(t testing.TB, net testnet.Config, a, b Config) (pair *testnet.Pair, ca, cb *Conn) {
	t.Helper()
	pair = testnet.TestPair(t, net)
	a.Interface, a.Local = pair.A.Name, netip.AddrPortFrom(pair.A.IP4, port)
	b.Interface, b.Local = pair.B.Name, netip.AddrPortFrom(pair.B.IP4, port)
	return pair, listenIn(t, pair.A.NS, a), listenIn(t, pair.B.NS, b)
}

// resolve sends until the flow has its fast lane, and takes that off the receiver.
func resolve(t testing.TB, c *Conn, to *Conn) *Flow {
	t.Helper()
	f := c.Flow(to.LocalAddr())
	p := c.PacketConn()
	ds := make([]Received, batch)
	for end := time.Now().Add(5 * time.Second); ; {
		if _, err := p.WriteToUDPAddrPort([]byte("hello"), to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		n, err := to.queues[0].ReceiveContext(soon(t), ds)
		if err != nil {
			t.Fatal(err)
		}
		lane := ds[n-1].Lane
		to.queues[0].Release(ds[:n])
		if lane == Fast && c.stats.fastTx.Load() > 0 {
			return f
		}
		if time.Now().After(end) {
			t.Fatal(f)
		}
	}
}

// sendAll reserves, fills and sends n numbered datagrams of a size.
func sendAll(t testing.TB, q *Queue, f *Flow, from, n, size int) {
	t.Helper()
	os := make([]Outgoing, batch)
	for n > 0 {
		k, err := q.ReserveContext(soon(t), os[:min(n, batch)])
		if err != nil {
			t.Fatal(err)
		}
		for i := range os[:k] {
			os[i].Flow = f
			os[i].Payload = os[i].Payload[:size]
			copy(os[i].Payload, fmt.Sprintf("%08d", from+i))
		}
		if sent, err := q.Send(os[:k]); sent != k || err != nil {
			t.Fatalf("sent %d of %d: %v", sent, k, err)
		}
		from, n = from+k, n-k
	}
}

// receiveAll takes n numbered datagrams and checks their order.
func receiveAll(t testing.TB, q *Queue, from, n, size int) {
	t.Helper()
	ds := make([]Received, batch)
	for got := 0; got < n; {
		k, err := q.ReceiveContext(soon(t), ds)
		if err != nil {
			t.Fatalf("after %d of %d: %v", got, n, err)
		}
		for _, d := range ds[:k] {
			if want := fmt.Sprintf("%08d", from+got); len(d.Payload) != size || string(d.Payload[:8]) != want {
				t.Fatalf("%d bytes %q, want %s", len(d.Payload), d.Payload[:8], want)
			}
			got++
		}
		if err := q.Release(ds[:k]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueue(t *testing.T) {
	_, a, b := twoConns(t, Config{}, Config{})
	f := resolve(t, a, b)
	for i, size := range []int{8, 9, 512, 1471, 1472} {
		sendAll(t, a.queues[0], f, 1000*i, 300, size)
		receiveAll(t, b.queues[0], 1000*i, 300, size)
	}
	if st, _ := b.Stats(); st.FastRx < 1500 || st.BadChecksum != 0 {
		t.Errorf("%+v", st)
	}
	ds := make([]Received, 1)
	sendAll(t, a.queues[0], f, 0, 1, 20)
	if n, err := b.queues[0].ReceiveContext(soon(t), ds); n != 1 || err != nil {
		t.Fatal(err)
	}
	again := ds[0]
	if ds[0].Src != a.LocalAddr() || ds[0].Dst != b.LocalAddr() || ds[0].TTL != 64 {
		t.Errorf("%+v", ds[0])
	}
	if err := b.queues[0].Release(ds); err != nil {
		t.Error(err)
	}
	if err := b.queues[0].Release(ds); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("released twice: %v", err)
	}
	if err := b.queues[0].Release([]Received{again}); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("a copy released after it: %v", err)
	}
}

// Replies in place: to the sender, from the address that was asked, with the
// payload as it is, cut or extended.
func TestReply(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	q := l.c.queues[0]
	buf := make([]byte, 2048)
	for i, change := range []func([]byte) []byte{
		func(b []byte) []byte { return b },
		func(b []byte) []byte { return b[:3] },
		func(b []byte) []byte { return b[:0] },
		func(b []byte) []byte { return append(b, "and more"...) },
		func([]byte) []byte { return []byte("from other memory") },
		func([]byte) []byte { return make([]byte, 1472) },
		func([]byte) []byte { return make([]byte, 3000) }, // over the MTU: by the kernel
	} {
		msg := []byte("a question")
		l.peer.WriteToUDPAddrPort(msg, l.to)
		ds, os := make([]Received, 1), make([]Outgoing, 1)
		if n, err := q.ReceiveContext(soon(t), ds); n != 1 || err != nil {
			t.Fatal(err)
		}
		if err := q.Reply(&ds[0], &os[0]); err != nil {
			t.Fatal(err)
		}
		if err := q.Release(ds); !errors.Is(err, umem.ErrFrame) {
			t.Errorf("released after the reply: %v", err)
		}
		os[0].Payload = change(os[0].Payload)
		want := string(os[0].Payload)
		if n, err := q.Send(os); n != 1 || err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
		l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, src, err := l.peer.ReadFromUDPAddrPort(buf[:cap(buf)])
		if len(want) > len(buf) {
			want = want[:len(buf)]
		}
		if err != nil || string(buf[:n]) != want || src != l.to {
			t.Errorf("reply %d: %d bytes %.20q from %v: %v", i, n, buf[:n], src, err)
		}
	}
}

// A bad datagram in the middle is named, the good ones go out in the same call,
// and the bad one is still the caller's.
func TestBadInTheMiddle(t *testing.T) {
	_, a, b := twoConns(t, Config{}, Config{})
	f := resolve(t, a, b)
	q := a.queues[0]
	os := make([]Outgoing, 5)
	if n, err := q.Reserve(os); n != 5 || err != nil {
		t.Fatal(err)
	}
	for i := range os {
		os[i].Flow = f
		os[i].Payload = append(os[i].Payload[:0], fmt.Sprintf("%08d", i)...)
	}
	os[1].Flow, os[1].Dst = nil, netip.MustParseAddrPort("192.0.2.1:9") // no route
	os[3].Payload = make([]byte, 70000)
	n, err := q.Send(os)
	var se *SendError
	if n != 5 || !errors.Is(err, syscall.ENETUNREACH) || !errors.Is(err, syscall.EMSGSIZE) || !errors.As(err, &se) || se.Index != 1 {
		t.Fatalf("%d: %v", n, err)
	}
	ds := make([]Received, 5)
	var got []string
	for len(got) < 3 {
		k, err := b.queues[0].ReceiveContext(soon(t), ds)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds[:k] {
			got = append(got, string(d.Payload))
		}
		b.queues[0].Release(ds[:k])
	}
	if !slices.Equal(got, []string{"00000000", "00000002", "00000004"}) {
		t.Errorf("%q", got)
	}
	for i := range os {
		if bad := i == 1 || i == 3; (os[i].Payload == nil) == bad {
			t.Errorf("datagram %d: payload %v", i, os[i].Payload == nil)
		}
	}
	if err := q.Abort(os); err != nil {
		t.Error(err)
	}
}

// Coalescing by count and by time: a tail leaves by itself.
func TestCoalesce(t *testing.T) {
	const delay = 20 * time.Millisecond
	_, a, b := twoConns(t, Config{Coalesce: Coalesce{Frames: 16, Delay: delay}}, Config{Wait: 1})
	f := resolve(t, a, b)
	wakeups := func() uint64 { st, _ := a.queues[0].sock.Stats(); return st.TxWakeups }
	before := wakeups()
	sendAll(t, a.queues[0], f, 0, 15, 64)
	if got := wakeups() - before; got != 0 {
		t.Errorf("%d wakeups before the count or the time", got)
	}
	sendAll(t, a.queues[0], f, 15, 1, 64)
	if got := wakeups() - before; got == 0 {
		t.Error("no wakeup at the count")
	}
	receiveAll(t, b.queues[0], 0, 16, 64)
	start := time.Now()
	sendAll(t, a.queues[0], f, 0, 3, 64)
	receiveAll(t, b.queues[0], 0, 3, 64)
	if took := time.Since(start); took < delay/2 || took > delay+200*time.Millisecond {
		t.Errorf("the tail left after %v, want %v", took, delay)
	}
	sendAll(t, a.queues[0], f, 0, 3, 64)
	if err := a.queues[0].Flush(); err != nil {
		t.Error(err)
	}
	receiveAll(t, b.queues[0], 0, 3, 64)
}

var idle = flag.Duration("udp.idle", 2*time.Second, "how long a receiver waits for nothing")

// Must hold 4: who waits for nothing uses no CPU.
func TestIdle(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	l.peer.WriteToUDPAddrPort([]byte("x"), l.to)
	q := l.c.queues[0]
	ds := make([]Received, 1)
	if _, err := q.ReceiveContext(soon(t), ds); err != nil {
		t.Fatal(err)
	}
	q.Release(ds)
	ctx, cancel := context.WithTimeout(context.Background(), *idle)
	defer cancel()
	before := cpuTime(t)
	if _, err := q.ReceiveContext(ctx, ds); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if used := cpuTime(t) - before; used > 30*time.Millisecond {
		t.Errorf("%v of CPU in %v of idling", used, *idle)
	} else {
		t.Logf("%v of CPU in %v of idling", used, *idle)
	}
}

// cpuTime is the CPU time of this process, in ticks of 10 ms.
func cpuTime(t testing.TB) time.Duration {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func TestNoAllocations(t *testing.T) {
	_, a, b := twoConns(t, Config{}, Config{})
	f := resolve(t, a, b)
	qa, qb := a.queues[0], b.queues[0]
	os, ds := make([]Outgoing, batch), make([]Received, batch)
	ctx := soon(t)
	if n := testing.AllocsPerRun(200, func() {
		n, err := qa.ReserveContext(ctx, os)
		if err != nil {
			t.Fatal(err)
		}
		for i := range os[:n] {
			os[i].Flow, os[i].Payload = f, os[i].Payload[:64]
		}
		if _, err := qa.Send(os[:n]); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < n; {
			k, err := qb.ReceiveContext(ctx, ds)
			if err != nil {
				t.Fatal(err)
			}
			qb.Release(ds[:k])
			got += k
		}
	}); n != 0 {
		t.Errorf("%v allocations for a batch by the Queue", n)
	}
	pa, pb := a.PacketConn(), b.PacketConn()
	buf := make([]byte, 100)
	if n := testing.AllocsPerRun(200, func() {
		if _, err := pa.WriteToUDPAddrPort(buf, b.local); err != nil {
			t.Fatal(err)
		}
		if _, _, err := pb.ReadFromUDPAddrPort(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a datagram by the PacketConn", n)
	}
}

// Checksums of what is received, by policy (cases 63 and 64).
func TestReceiveChecksums(t *testing.T) {
	for _, c := range []struct {
		policy          RxChecksum
		good, bad, none string
	}{
		{RxVerify, "ok", "", "ok"}, {RxIgnore, "ok", "ok", "ok"}, {RxMark, "ok", "marked", "ok"},
	} {
		l := newLink(t, testnet.Config{}, Config{RxChecksum: c.policy})
		raw, err := testnet.OpenRaw(l.pair.A)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		tp, err := packet.NewTemplate(packet.Config{SrcMAC: packet.MAC(l.pair.A.MAC), DstMAC: packet.MAC(l.pair.B.MAC), Src: l.from, Dst: l.to})
		if err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, 42+9)
		q, ds := l.c.queues[0], make([]Received, 1)
		for i, want := range []string{c.good, c.bad, c.none} {
			copy(frame[42:], "a payload")
			tp.Put(frame, frame[42:])
			switch i {
			case 1:
				frame[45] ^= 1
			case 2:
				frame[40], frame[41] = 0, 0
			}
			if err := raw.Send(frame); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			n, _ := q.ReceiveContext(ctx, ds)
			cancel()
			got := ""
			if n == 1 {
				if got = "ok"; ds[0].BadChecksum {
					got = "marked"
				}
				q.Release(ds)
			}
			if got != want {
				t.Errorf("policy %d, datagram %d: %q, want %q", c.policy, i, got, want)
			}
		}
		if st, _ := l.c.Stats(); c.policy == RxVerify && st.BadChecksum != 1 {
			t.Errorf("%d bad checksums counted", st.BadChecksum)
		}
	}
}

// Case 92, and all that a sender can ask for: the receiver verifies.
func TestSendChecksums(t *testing.T) {
	for _, policy := range []TxChecksum{TxAuto, TxSoftware, TxNone, TxOffload} {
		_, a, b := twoConns(t, Config{TxChecksum: policy}, Config{})
		f := resolve(t, a, b)
		before, _ := b.Stats()
		for _, size := range []int{8, 9, 511, 1472} {
			sendAll(t, a.queues[0], f, 0, 100, size)
			receiveAll(t, b.queues[0], 0, 100, size)
		}
		st, _ := b.Stats()
		if partial := st.Partial - before.Partial; st.BadChecksum != 0 || partial > 4 {
			t.Errorf("policy %d: %d bad, %d partial", policy, st.BadChecksum, partial)
		}
	}
}
