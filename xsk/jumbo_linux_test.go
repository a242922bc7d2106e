// SPDX-License-Identifier: MIT

package xsk

import (
	"os"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

func pageSize() int { return os.Getpagesize() }

// sendChain sends a packet as pieces of up to room bytes.
func sendChain(t testing.TB, s *Socket, packet []byte, room int) {
	t.Helper()
	frames := make([]umem.Frame, (len(packet)+room-1)/room)
	for n := 0; n < len(frames); {
		k, err := s.ReserveContext(within(t, time.Second), frames[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	for i := range frames {
		n := min(room, len(packet))
		frames[i] = write(t, s, frames[i], packet[:n]).WithMore(i < len(frames)-1)
		packet = packet[n:]
	}
	sendFrames(t, s, frames)
}

// joined receives n packets and returns the bytes of each, and in how many
// frames it came.
func joined(t testing.TB, s *Socket, n int) (packets [][]byte, pieces []int) {
	t.Helper()
	frames := make([]umem.Frame, maxSegments)
	for len(packets) < n {
		k, err := s.ReceiveContext(within(t, 5*time.Second), frames)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		count := 0
		for _, f := range frames[:k] {
			part, err := s.Area().Bytes(f)
			if err != nil {
				t.Fatal(err)
			}
			b, count = append(b, part...), count+1
			if !f.More() {
				packets, pieces = append(packets, b), append(pieces, count)
				b, count = nil, 0
			}
		}
		if count > 0 {
			t.Fatal("a packet without its end")
		}
		if err := s.Release(frames[:k]); err != nil {
			t.Fatal(err)
		}
	}
	return packets, pieces
}

func jumboLink(t *testing.T, rx Config) *link {
	rx.MultiBuffer = true
	return newLink(t, testnet.Config{MTU: 9000}, rx, Config{MultiBuffer: true}, bpf.Config{Mode: bpf.Native})
}

// Cases 46, 67: jumbo packets of every shape come whole, small ones between them
// stay single, in order.
func TestJumbo(t *testing.T) {
	l := jumboLink(t, Config{})
	seq := uint64(0)
	for _, size := range []int{1792, 60, 1793, 3584, 60, 3585, 9014, 60, 9014, 5000} {
		for _, room := range []int{2048, 1000, 600} {
			p := datagram(&l.tp, seq, size-headers)
			sendChain(t, l.tx, p, room)
			b, pieces := joined(t, l.rx, 1)
			if len(b) != 1 || len(b[0]) != size || checkPayload(t, b[0]) != seq {
				t.Fatalf("%d bytes in pieces of %d came as %d", size, room, len(b[0]))
			}
			if want := (size + 1791) / 1792; pieces[0] != want {
				t.Errorf("%d bytes came in %d pieces, want %d", size, pieces[0], want)
			}
			seq++
		}
	}
	// Single frames through the descriptors that chains have used.
	send(t, l.tx, 64, l.packets(5000, 64, 64)...)
	wantSeqs(t, collect(t, l.rx, 64), 5000)
}

// Case 68: a packet for which chunks or ring do not suffice is lost whole, and
// counted; the next small one arrives.
func TestJumboRunsOut(t *testing.T) {
	t.Run("chunks", func(t *testing.T) {
		l := jumboLink(t, Config{RxSize: 64, FillSize: 64, RxFrames: 3})
		sendChain(t, l.tx, datagram(&l.tp, 1, 8972), 2048)
		statsWhen(t, l.rx, func(s Stats) bool { return s.RxDropped > 0 })
		send(t, l.tx, 1, datagram(&l.tp, 2, 64))
		wantSeqs(t, collect(t, l.rx, 1), 2)
	})
	t.Run("ring", func(t *testing.T) {
		l := jumboLink(t, Config{RxSize: 32, FillSize: 256})
		for i := range 6 { // 36 descriptors for 32 entries
			sendChain(t, l.tx, datagram(&l.tp, uint64(i), 8972), 2048)
		}
		st := statsWhen(t, l.rx, func(s Stats) bool { return s.RxRingFull > 0 })
		if st.RxUsed != 30 || st.RxRingFull != 1 {
			t.Errorf("%+v", st)
		}
		packets, _ := joined(t, l.rx, 5)
		for i, p := range packets {
			if checkPayload(t, p) != uint64(i) {
				t.Errorf("packet %d is another", i)
			}
		}
		send(t, l.tx, 1, datagram(&l.tp, 9, 64))
		wantSeqs(t, collect(t, l.rx, 1), 9)
	})
	t.Run("refused at open", func(t *testing.T) {
		if err := (Config{Interface: "x", MultiBuffer: true, RxSize: 16}).withDefaults().validate(); err == nil {
			t.Error("an RX ring that no packet of 18 frames fits into")
		}
	})
}
