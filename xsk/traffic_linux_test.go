// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// link is a socket on either end of a veth pair, with the receiver's program.
type link struct {
	pair   *testnet.Pair
	tx, rx *Socket
	tp     packet.Template // from tx to rx
	back   packet.Template // from rx to tx
}

func newLink(t testing.TB, net testnet.Config, rx, tx Config, prog bpf.Config) *link {
	t.Helper()
	l := &link{pair: testnet.TestPair(t, net)}
	rx.Interface, tx.Interface = l.pair.B.Name, l.pair.A.Name
	l.rx = openIn(t, l.pair.B.NS, rx)
	l.tx = openIn(t, l.pair.A.NS, tx)
	if rx.Direction != TransmitOnly {
		redirect(t, l.pair.B, prog, l.rx)
	}
	l.tp = template(t, l.pair.A, l.pair.B)
	l.back = template(t, l.pair.B, l.pair.A)
	return l
}

// packets makes n datagrams of the given payload size, numbered from seq on.
func (l *link) packets(seq, n, size int) [][]byte {
	var p [][]byte
	for i := range n {
		p = append(p, datagram(&l.tp, uint64(seq+i), size))
	}
	return p
}

// wantSeqs asserts that seqs are from, from+1, …
func wantSeqs(t testing.TB, seqs []uint64, from int) {
	t.Helper()
	for i, seq := range seqs {
		if seq != uint64(from+i) {
			t.Fatalf("datagram %d came as number %d", seq, from+i)
		}
	}
}

// statsWhen waits until the receiver's counters satisfy ok.
func statsWhen(t testing.TB, s *Socket, ok func(Stats) bool) Stats {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		st, err := s.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if ok(st) {
			return st
		}
		if time.Now().After(end) {
			t.Fatalf("counters never came: %+v", st)
		}
	}
}

func TestTraffic(t *testing.T) {
	for _, mode := range []bpf.Mode{bpf.Native, bpf.Generic} {
		t.Run(mode.String(), func(t *testing.T) {
			testnet.Leaks(t)
			l := newLink(t, testnet.Config{}, Config{}, Config{}, bpf.Config{Mode: mode})
			if l.rx.Info().Mode != Copy || l.tx.Info().Mode != Copy || l.rx.Info().Driver != "veth" {
				t.Errorf("%+v %+v", l.rx.Info(), l.tx.Info())
			}
			for round := range 5 {
				var packets [][]byte
				for i := range 300 {
					packets = append(packets, datagram(&l.tp, uint64(round*300+i), 8+(i*37)%1464))
				}
				send(t, l.tx, 64, packets...)
				wantSeqs(t, collect(t, l.rx, len(packets)), round*300)
			}
			st, err := l.rx.Stats()
			if err != nil || st.RxFrames != 1500 || st.RxLost() != 0 || st.Invalid != 0 {
				t.Errorf("%v %+v", err, st)
			}
			if err := l.tx.Drain(within(t, time.Second)); err != nil {
				t.Error(err)
			}
			// Case 32: a drained TX ring is no error.
			st, _ = l.tx.Stats()
			if st.TxCompleted != 1500 || st.TxLost != 0 || st.TxRingDrained == 0 || st.TxInvalid != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Cases 27, 28 and 34: small rings and few frames, rounds that do not divide by
// them, one at a time and in bursts just below the ring.
func TestSmallRings(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{RxSize: 64, FillSize: 64, RxFrames: 64}, Config{TxSize: 64}, bpf.Config{})
	seq := 0
	for _, burst := range []int{1, 63, 35, 64} {
		for left := 641; left > 0; {
			n := min(burst, left)
			send(t, l.tx, 64, l.packets(seq, n, 64)...)
			wantSeqs(t, collect(t, l.rx, n), seq)
			seq, left = seq+n, left-n
		}
	}
}

// Cases 19 and 37: ring sizes are what was asked, each on its side, and overflow
// of the RX ring is not mixed up with starvation.
func TestLossHasAName(t *testing.T) {
	for _, c := range []struct {
		name                string
		cfg                 Config
		sent, got           int
		ringFull, fillEmpty uint64
	}{
		{"RX ring full", Config{RxSize: 16, TxSize: 256, FillSize: 64, RxFrames: 40}, 30, 16, 14, 0},
		{"fill ring empty", Config{RxSize: 64, FillSize: 64, RxFrames: 10}, 30, 10, 0, 20},
		{"case 19", Config{RxSize: 16, TxSize: 256, FillSize: 64}, 40, 16, 24, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLink(t, testnet.Config{}, c.cfg, Config{}, bpf.Config{})
			send(t, l.tx, 64, l.packets(0, c.sent, 64)...)
			st := statsWhen(t, l.rx, func(s Stats) bool { return uint64(s.RxUsed)+s.RxLost() == uint64(c.sent) })
			if st.RxRingFull != c.ringFull || st.RxFillEmpty != c.fillEmpty || st.RxTooBig() != 0 {
				t.Errorf("%+v", st)
			}
			wantSeqs(t, collect(t, l.rx, c.got), 0)
			// What is free again is filled again.
			send(t, l.tx, 64, l.packets(100, 5, 64)...)
			wantSeqs(t, collect(t, l.rx, 5), 100)
		})
	}
	l := newLink(t, testnet.Config{}, Config{}, Config{RxSize: 16, TxSize: 256}, bpf.Config{})
	frames := make([]umem.Frame, 256)
	if n, _ := l.tx.Reserve(frames); n != 256 {
		t.Fatal(n)
	}
	for i := range frames {
		frames[i] = write(t, l.tx, frames[i], datagram(&l.tp, uint64(i), 64))
	}
	if n, err := l.tx.Send(frames[:200]); n != 200 || err != nil {
		t.Errorf("TX ring of 256 took %d of 200: %v", n, err)
	}
	if n, err := l.tx.Send(frames[200:]); n != 56 || err != nil {
		t.Errorf("and %d of 56: %v", n, err)
	}
}

// Cases 17, 41 and 66: the largest frame is the chunk less 256 less headroom;
// larger ones are counted, and the headroom's bytes are the user's.
func TestFrameSizes(t *testing.T) {
	for _, c := range []struct{ chunk, headroom int }{{2048, 0}, {2048, 1}, {2048, 128}, {2048, 1344}, {4096, 0}} {
		if c.chunk > pageSize() {
			continue
		}
		l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: c.chunk, Headroom: c.headroom}, Config{ChunkSize: min(4096, pageSize())}, bpf.Config{Mode: bpf.Generic})
		most := c.chunk - 256 - c.headroom
		if got := l.rx.Area().MaxFrame(); got != most {
			t.Errorf("%+v: MaxFrame %d", c, got)
		}
		sizes := []int{50, most - 1, most}
		for i, n := range sizes {
			send(t, l.tx, 1, datagram(&l.tp, uint64(i), n-headers))
		}
		wantSeqs(t, collect(t, l.rx, len(sizes)), 0)
		if most+1 <= 4096 {
			send(t, l.tx, 1, datagram(&l.tp, 9, most+1-headers))
			st := statsWhen(t, l.rx, func(s Stats) bool { return s.RxDropped > 0 })
			if st.RxTooBig() != 1 || st.RxFillEmpty != 0 {
				t.Errorf("%+v: %+v", c, st)
			}
		}
		send(t, l.tx, 1, datagram(&l.tp, 10, 100))
		wantSeqs(t, collect(t, l.rx, 1), 10)
	}
}

// Case 49: frames that are held do not change while ten rings' worth goes by.
func TestHeldFramesStay(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{RxSize: 64, FillSize: 64, RxFrames: 96}, Config{}, bpf.Config{})
	send(t, l.tx, 32, l.packets(0, 32, 256)...)
	held := make([]umem.Frame, 32)
	for n := 0; n < 32; {
		k, err := l.rx.ReceiveContext(within(t, time.Second), held[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	for i := range 20 {
		send(t, l.tx, 32, l.packets(1000+32*i, 32, 256)...)
		collect(t, l.rx, 32)
	}
	for i, f := range held {
		b, err := l.rx.Area().Bytes(f)
		if err != nil {
			t.Fatal(err)
		}
		if seq := checkPayload(t, b); seq != uint64(i) {
			t.Errorf("held frame %d has datagram %d", i, seq)
		}
	}
	if err := l.rx.Release(held); err != nil {
		t.Error(err)
	}
}

// Cases 31 and 41: echo in place, in batches that need several wakeups; the
// frames that are asked for meanwhile are others.
func TestEchoInPlace(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{TxBudget: 32, RxFrames: 256}, Config{}, bpf.Config{})
	redirect(t, l.pair.A, bpf.Config{}, l.tx)
	var seqs []uint64
	frames, spare := make([]umem.Frame, 200), make([]umem.Frame, 64)
	for round := range 5 {
		send(t, l.tx, 64, l.packets(round*200, 200, 300)...)
		for n := 0; n < 200; {
			k, err := l.rx.ReceiveContext(within(t, time.Second), frames[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		for _, f := range frames {
			b, _ := l.rx.Area().Bytes(f)
			u, reason := packet.Parse(b)
			if reason != 0 || u.Reply(packet.ReplyConfig{Checksum: packet.Software}, b) != len(b) {
				t.Fatalf("%v", reason)
			}
		}
		sendFrames(t, l.rx, frames)
		n, _ := l.rx.Reserve(spare)
		for _, f := range spare[:n] {
			b, _ := l.rx.Area().Bytes(f)
			for i := range b[:cap(b)] {
				b[:cap(b)][i] = 0xee
			}
		}
		l.rx.Release(spare[:n])
		seqs = append(seqs, collect(t, l.tx, 200)...)
	}
	wantSeqs(t, seqs, 0)
	l.rx.Drain(within(t, time.Second))
	if s := l.rx.Snapshot(); s.Transmitting != 0 || s.Out() != 0 {
		t.Errorf("%v", s)
	}
	if st := statsWhen(t, l.rx, func(s Stats) bool { return s.FillUsed == 256 }); st.Invalid != 0 {
		t.Errorf("echoed frames do not return to the fill ring: %+v", st)
	}
}

// Cases 35, 76 and 90: whatever comes is handed over at once, one or fifteen.
func TestNoMinimumBatch(t *testing.T) {
	for _, w := range []Wait{Adaptive, Block, Busy} {
		l := newLink(t, testnet.Config{}, Config{Wait: w}, Config{}, bpf.Config{})
		seq := 0
		var waits []time.Duration
		for _, n := range []int{1, 1, 1, 1, 2, 3, 7, 15, 17} {
			time.Sleep(3 * time.Millisecond) // silence between bursts
			start := time.Now()
			send(t, l.tx, 32, l.packets(seq, n, 64)...)
			wantSeqs(t, collect(t, l.rx, n), seq)
			waits = append(waits, time.Since(start))
			seq += n
		}
		slices.Sort(waits)
		if waits[len(waits)/2] > 10*time.Millisecond {
			t.Errorf("%v: bursts took %v", w, waits)
		}
	}
}

// Case 80: the peer's link is down. What the device refuses is lost and counted,
// not retried for ever, and nothing comes twice.
func TestPeerDown(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{}, bpf.Config{})
	if err := l.pair.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	frames := make([]umem.Frame, 100)
	if n, _ := l.tx.Reserve(frames); n != 100 {
		t.Fatal(n)
	}
	for i := range frames {
		frames[i] = write(t, l.tx, frames[i], datagram(&l.tp, uint64(i), 64))
	}
	if n, err := l.tx.Send(frames); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	left, err := l.tx.Flush()
	if left != 0 || !errors.Is(err, ErrLost) {
		t.Errorf("flush to a dead peer: %d left, %v", left, err)
	}
	if st, _ := l.tx.Stats(); st.TxLost != 100 {
		t.Errorf("%d counted as lost", st.TxLost)
	}
	if err := l.pair.B.SetUp(true); err != nil {
		t.Fatal(err)
	}
	if err := l.pair.B.WaitUp(); err != nil {
		t.Fatal(err)
	}
	if err := l.pair.A.WaitUp(); err != nil {
		t.Fatal(err)
	}
	send(t, l.tx, 64, l.packets(100, 100, 64)...)
	wantSeqs(t, collect(t, l.rx, 100), 100)
}

// Cases 81, 82 and 44: lengths are checked before the ring.
func TestLengths(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{ChunkSize: min(4096, pageSize())}, Config{ChunkSize: min(4096, pageSize())}, bpf.Config{})
	try := func(n int) error {
		frames := make([]umem.Frame, 1)
		l.tx.Reserve(frames)
		defer l.tx.Release(frames)
		b, _ := l.tx.Area().Bytes(frames[0])
		clear(b[:cap(b)])
		_, err := l.tx.Send([]umem.Frame{frames[0].WithLen(n)})
		return err
	}
	for n, ok := range map[int]bool{13: false, 14: true, 1514: true, 1515: false, 1518: false, 1519: false, 3000: false} {
		if err := try(n); (err == nil) != ok || err != nil && !errors.Is(err, ErrLength) {
			t.Errorf("%d bytes with an MTU of 1500: %v", n, err)
		}
	}
	l.tx.SetMTU(1280)
	if err := try(1295); !errors.Is(err, ErrLength) {
		t.Errorf("1295 bytes with an MTU of 1280: %v", err)
	}
	tagged := make([]umem.Frame, 1)
	l.tx.SetMTU(1500)
	l.tx.Reserve(tagged)
	b, _ := l.tx.Area().Bytes(tagged[0])
	clear(b[:1518])
	b[:14][12], b[:14][13] = 0x81, 0
	if n, err := l.tx.Send([]umem.Frame{tagged[0].WithLen(1518)}); n != 1 {
		t.Errorf("a tagged frame of 1518 bytes: %v", err)
	}
	l.tx.Flush()
	if st, _ := l.tx.Stats(); st.TxInvalid != 0 || st.TxLost != 0 {
		t.Errorf("%+v", st)
	}
}
