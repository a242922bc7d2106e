// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

var soak = flag.Duration("xsk.soak", time.Second, "how long traffic runs in both directions at once")

// Cases 29, 30, 39 and 50: both directions at once through few frames, with a
// checksum and a number in each datagram: none damaged, none twice, and what is
// missing is in the counters.
func TestSoak(t *testing.T) {
	cfg := Config{RxSize: 128, FillSize: 128, TxSize: 64, TxFrames: 128, RxFrames: 128}
	l := newLink(t, testnet.Config{}, cfg, cfg, bpf.Config{})
	redirect(t, l.pair.A, bpf.Config{}, l.tx)
	var wg sync.WaitGroup
	var sent, got [2]uint64
	ends := [2]struct {
		s  *Socket
		tp packet.Template
	}{{l.tx, l.tp}, {l.rx, l.back}}
	stop := make(chan struct{})
	for i := range ends {
		wg.Go(func() { sent[i] = soakSend(t, ends[i].s, &ends[i].tp, stop) })
	}
	ctx := within(t, *soak+10*time.Second)
	var readers sync.WaitGroup
	for i := range ends {
		readers.Go(func() {
			frames := make([]umem.Frame, 32)
			next := uint64(0)
			for {
				n, err := ends[i].s.ReceiveContext(ctx, frames)
				if err != nil {
					return // the deadline, set below
				}
				for _, f := range frames[:n] {
					b, _ := ends[i].s.Area().Bytes(f)
					seq, ok := soakCheck(b)
					if !ok || seq < next {
						t.Errorf("datagram %d when %d was due: intact %v", seq, next, ok)
					}
					next = seq + 1
					got[i]++
				}
				ends[i].s.Release(frames[:n])
				checkArea(t, ends[i].s.Area())
			}
		})
	}
	time.Sleep(*soak) // the length of the test, not a wait for a condition
	close(stop)
	wg.Wait()
	for i := range ends {
		ends[i].s.Drain(ctx)
	}
	for i := range ends {
		statsWhen(t, ends[i].s, func(s Stats) bool { return s.RxUsed == 0 })
		ends[i].s.SetReceiveDeadline(time.Now())
	}
	readers.Wait()
	for i := range ends {
		st, err := ends[i].s.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if other := sent[1-i]; other != got[i]+st.RxLost() || got[i] == 0 {
			t.Errorf("end %d: %d sent to it, %d received, %d in counters (%+v)", i, other, got[i], st.RxLost(), st)
		}
		if s := ends[i].s.Snapshot(); s.Out() != 0 || s.Transmitting != 0 {
			t.Errorf("end %d: %v", i, s)
		}
	}
	t.Logf("sent %v, received %v", sent, got)
}

// soakSend sends datagrams of random lengths until it is stopped.
func soakSend(t *testing.T, s *Socket, tp *packet.Template, stop chan struct{}) (seq uint64) {
	rng := rand.New(rand.NewPCG(7, uint64(len(s.info.Interface))))
	frames := make([]umem.Frame, 32)
	for {
		select {
		case <-stop:
			return seq
		default:
		}
		n, err := s.ReserveContext(nil, frames[:1+rng.IntN(32)])
		if err != nil {
			t.Error(err)
			return seq
		}
		for i := range frames[:n] {
			b, _ := s.Area().Bytes(frames[i])
			b = b[:headers+18+rng.IntN(1455)]
			p := b[headers:]
			binary.BigEndian.PutUint64(p, seq)
			for j := 12; j < len(p); j++ {
				p[j] = byte(seq) + byte(j)
			}
			binary.BigEndian.PutUint32(p[8:], crc32.ChecksumIEEE(p[12:])^uint32(seq))
			tp.Put(b, p)
			frames[i] = frames[i].WithLen(len(b))
			seq++
		}
		sendFrames(t, s, frames[:n])
		runtime.Gosched()
	}
}

func soakCheck(b []byte) (seq uint64, ok bool) {
	u, reason := packet.Parse(b)
	if reason != 0 || u.Length < 12 {
		return 0, false
	}
	p := u.Payload(b)
	seq = binary.BigEndian.Uint64(p)
	return seq, binary.BigEndian.Uint32(p[8:]) == crc32.ChecksumIEEE(p[12:])^uint32(seq) && u.Verify(b) == packet.Good
}

// Case 114: an idle receiver uses no CPU, and a batch of 64 costs a sender no
// more system calls than its budget asks for.
func TestCosts(t *testing.T) {
	for _, w := range []Wait{Adaptive, Block} {
		l := newLink(t, testnet.Config{}, Config{Wait: w}, Config{}, bpf.Config{})
		send(t, l.tx, 64, l.packets(0, 200, 64)...)
		collect(t, l.rx, 200)
		l.rx.SetReceiveDeadline(time.Now().Add(time.Second))
		before := threadTime(t)
		if _, err := l.rx.ReceiveContext(nil, make([]umem.Frame, 1)); err == nil {
			t.Fatal("something came")
		}
		if used := threadTime(t) - before; used > 20*time.Millisecond {
			t.Errorf("%v: %v of CPU in an idle second", w, used)
		}
		before64, _ := l.tx.Stats()
		for i := range 50 {
			send(t, l.tx, 64, l.packets(1000+64*i, 64, 64)...)
			l.rx.SetReceiveDeadline(time.Time{})
			collect(t, l.rx, 64)
		}
		after, _ := l.tx.Stats()
		calls := after.TxWakeups - before64.TxWakeups
		if most := uint64(50 * 64 / l.tx.Info().TxBudget); l.tx.Info().TxBudget <= 64 && calls > 2*most || calls > 100 {
			t.Errorf("%v: %d wakeups for 50 batches of 64 with a budget of %d", w, calls, l.tx.Info().TxBudget)
		}
	}
}

// threadTime is the CPU time of this process.
func threadTime(t testing.TB) time.Duration {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Case 117: nothing on the data path allocates.
func TestNoAllocations(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{}, bpf.Config{})
	out, in := make([]umem.Frame, 64), make([]umem.Frame, 64)
	ctx := within(t, time.Minute)
	p := datagram(&l.tp, 1, 64)
	cycle := func() {
		n, err := l.tx.ReserveContext(ctx, out)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out[:n] {
			out[i] = write(t, l.tx, out[i], p)
		}
		if _, err := l.tx.Send(out[:n]); err != nil {
			t.Fatal(err)
		}
		if _, err := l.tx.Flush(); err != nil {
			t.Fatal(err)
		}
		l.tx.Reap()
		for got := 0; got < n; {
			k, err := l.rx.ReceiveContext(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			l.rx.Release(in[:k])
			got += k
		}
	}
	if n := testing.AllocsPerRun(200, cycle); n != 0 {
		t.Errorf("%v allocations for a batch of 64", n)
	}
	if n := testing.AllocsPerRun(20, func() {
		l.rx.SetReceiveDeadline(time.Now().Add(time.Millisecond))
		l.rx.rxWait.Sleep(ctx, time.Millisecond, l.rx.FD())
	}); n != 0 {
		t.Errorf("%v allocations for a wait", n)
	}
}

// Case 48: a transmit-only socket needs no program, has a filled fill ring, and
// leaves the kernel's own traffic alone.
func TestTransmitOnly(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{Direction: TransmitOnly}, bpf.Config{})
	if st, _ := l.tx.Stats(); st.FillUsed != 64 {
		t.Errorf("fill ring has %d chunks", st.FillUsed)
	}
	if _, err := l.tx.Receive(make([]umem.Frame, 1)); err == nil {
		t.Error("a transmit-only socket receives")
	}
	raw, err := testnet.OpenRaw(l.pair.B)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for i := range 100 {
		send(t, l.tx, 8, l.packets(i, 1, 64)...)
		p := datagram(&l.back, 7, 64)
		if err := raw.Send(p); err != nil { // to the kernel behind tx
			t.Fatal(err)
		}
	}
	wantSeqs(t, collect(t, l.rx, 100), 0)
	if _, err := l.rx.Reserve(nil); err != nil {
		t.Error(err)
	}
	only := openIn(t, l.pair.A.NS, Config{Interface: l.pair.A.Name, Area: l.tx.Area(), Queue: 0, Direction: ReceiveOnly, Share: l.tx, RxSize: 32})
	if _, err := only.Reserve(make([]umem.Frame, 1)); err == nil {
		t.Error("a receive-only socket sends")
	}
}
