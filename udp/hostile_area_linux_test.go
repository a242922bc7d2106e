// SPDX-License-Identifier: MIT

package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// TestGatherWithMetadata has an area that wants room before each frame: slices that
// begin without it are copied, and every checksum is right.
func TestGatherWithMetadata(t *testing.T) {
	for _, sum := range []TxChecksum{TxSoftware, TxOffload} {
		t.Run(fmt.Sprint("sum ", sum), func(t *testing.T) {
			s := withMetadata(t, Config{TxChecksum: sum})
			if s.c.offload != (sum == TxOffload) {
				t.Fatal("offload: ", s.c.offload)
			}
			for _, at := range []int{0, 1, xsk.TxMetadataSize - 1, xsk.TxMetadataSize, xsk.TxMetadataSize + 1, 4000, 4095} {
				for _, n := range []int{0, 1, 95, 3951, 3952, 4000, 5001, 8900} {
					for _, header := range []string{"", "odd"} {
						data, more := s.slice(t, 4096*2+at, n), s.slice(t, 50, 3)
						s.send(t, []Gather{{Header: []byte(header), Slices: []umem.Slice{data, more}, Flow: s.flow, Cookie: 1}})
						s.expect(t, fmt.Sprintf("%d at %d after %q", n, at, header), []byte(header), data.Bytes(), more.Bytes())
						s.cookies(t, 1)
					}
				}
			}
			st := s.stats(t)
			if st.KernelTx > 0 || st.Gathered+st.Copied != st.FastTx {
				t.Errorf("%d by the kernel, %d gathered, %d copied of %d", st.KernelTx, st.Gathered, st.Copied, st.FastTx)
			}
		})
	}
	// What must not be copied is refused, with the reason.
	s := withMetadata(t, Config{Gather: GatherAlways})
	early, good := s.slice(t, xsk.TxMetadataSize-1, 100), s.slice(t, xsk.TxMetadataSize, 100)
	n, err := s.c.Queues()[0].SendGather([]Gather{{Slices: []umem.Slice{early}, Flow: s.flow}, {Slices: []umem.Slice{good}, Flow: s.flow}})
	if n != 2 || !errors.Is(err, xsk.ErrMetadata) || errors.Is(err, ErrPieces) {
		t.Errorf("%d, %v", n, err)
	}
	s.expect(t, "the other", good.Bytes())
}

// withMetadata is a studio whose area keeps room for metadata.
func withMetadata(t *testing.T, cfg Config) *studio {
	t.Helper()
	area, err := umem.New(umem.Config{ChunkSize: 4096, Chunks: 64 + 256, TxMetadata: xsk.TxMetadataSize, SoftwareChecksum: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := area.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &studio{area: area}
	if s.region, err = area.NewRegion(64 * 4096); err != nil {
		t.Fatal(err)
	}
	for i := range s.region.Bytes() {
		s.region.Bytes()[i] = byte(i*7 + i>>8)
	}
	cfg.Area, cfg.RingSize = area, 128
	s.link = newLink(t, testnet.Config{MTU: 9000}, cfg)
	s.flow = s.c.Flow(s.from)
	s.settle(t, s.flow)
	return s
}

// TestGatherQueues has two queues on one area: the cookie of each comes from the one
// that was sent by, and either can send the same bytes.
func TestGatherQueues(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000, Queues: 2}, Config{RingSize: 64, TxFrames: 64})
	qs := s.c.Queues()
	if len(qs) != 2 {
		t.Fatal(len(qs), "queues")
	}
	data := s.slice(t, 4000, 8000)
	const rounds = 100
	for i := range rounds {
		for k, q := range qs {
			for {
				n, err := q.SendGather([]Gather{{Slices: []umem.Slice{data}, Flow: s.flow, Cookie: uint64(1000*k + i + 1)}})
				if err != nil {
					t.Fatal(err)
				}
				if n == 1 {
					break
				}
			}
			s.expect(t, fmt.Sprint("round ", i), data.Bytes())
		}
	}
	for k, q := range qs {
		var all []uint64
		for end := time.Now().Add(5 * time.Second); len(all) < rounds && time.Now().Before(end); {
			var got [16]uint64
			all = append(all, got[:q.Completed(got[:])]...)
		}
		slices.Sort(all)
		if len(all) != rounds || all[0] != uint64(1000*k+1) || all[rounds-1] != uint64(1000*k+rounds) {
			t.Errorf("queue %d: %v", k, all)
		}
	}
}

// TestGatherAreaTooSmall says what is missing, and leaves nothing: the area is as it
// was, and enough for who wants less.
func TestGatherAreaTooSmall(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	area, err := umem.New(umem.Config{Chunks: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := area.NewRegion(30 * 2048); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ring, frames int }{{64, 64}, {32, 4}, {16, 16}} {
		conn, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Area: area, RingSize: c.ring, TxFrames: c.frames})
		if c.ring == 16 {
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil {
			conn.Close()
			t.Fatal("an area that is too small is enough")
		}
		t.Log(err)
		if !strings.Contains(err.Error(), "chunks") {
			t.Errorf("%+v: %v", c, err)
		}
		if area.InUse() {
			t.Error("a socket is left")
		}
	}
	if err := area.Close(); err != nil {
		t.Error(err)
	}
}

// TestGatherFallback is the kernel lane alone, with all that is sent from regions.
func TestGatherFallback(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 1500}, Config{Mode: xsk.ZeroCopy, Fallback: FallbackAllow})
	q := s.c.Queues()[0]
	if q.Number() != -1 {
		t.Fatal("not the kernel lane")
	}
	s.readOnly(t)
	data := s.slice(t, 7, 5000)
	s.send(t, []Gather{{Header: []byte("head"), Slices: []umem.Slice{data}, Flow: s.flow, Cookie: 7}, {Flow: s.flow, Cookie: 8}})
	s.expect(t, "in fragments", []byte("head"), data.Bytes())
	s.expect(t, "nothing")
	s.cookies(t, 7, 8)
	pacer, err := NewPacer(PacerConfig{Gap: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []*Pacer{nil, pacer} {
		n, err := q.SendTrain(soon(t), Train{Flow: s.flow, Data: data, Size: 999, First: 5, Cookie: 9, Pacer: p, Header: func(i int, room []byte) int {
			return copy(room, fmt.Sprint(i))
		}})
		if n != 6 || err != nil {
			t.Fatal(i, n, err)
		}
		for k := range 6 {
			s.expect(t, fmt.Sprint("datagram ", k), []byte(fmt.Sprint(5+k)), data.Bytes()[999*k:min(999*k+999, 5000)])
		}
		s.cookies(t, 9)
	}
	if st := s.stats(t); st.KernelTx != 2+2*6 || st.Copied != st.KernelTx {
		t.Errorf("%d by the kernel, %d copied", st.KernelTx, st.Copied)
	}
	// Cookies that nobody takes have a bound by either call.
	one := s.slice(t, 0, 0)
	for range maxDue {
		if _, err := q.SendTrain(nil, Train{Flow: s.flow, Data: one, Size: 1, Cookie: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 1000, Cookie: 3}); n != 0 || !errors.Is(err, ErrCookies) {
		t.Errorf("a train: %d, %v", n, err)
	}
	if n, err := q.SendGather([]Gather{{Flow: s.flow, Cookie: 3}}); n != 0 || !errors.Is(err, ErrCookies) {
		t.Errorf("a datagram: %d, %v", n, err)
	}
	if n := q.Completed(make([]uint64, 2*maxDue)); n != maxDue {
		t.Errorf("%d cookies", n)
	}
}

// TestGatherCookiesFull is a program that never takes its cookies.
func TestGatherCookiesFull(t *testing.T) {
	s := newStudio(t, testnet.Config{}, Config{})
	q := s.c.Queues()[0]
	empty := s.slice(t, 0, 0)
	for i := range 1 << 16 {
		if _, err := q.SendTrain(nil, Train{Flow: s.flow, Data: empty, Size: 1, Cookie: uint64(i + 1)}); err != nil {
			t.Fatal(i, err)
		}
	}
	gs := []Gather{{Slices: []umem.Slice{s.slice(t, 0, 10)}, Flow: s.flow, Cookie: 1 << 17}, {Flow: s.flow}}
	if n, err := q.SendGather(gs); n != 0 || !errors.Is(err, ErrCookies) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := q.SendTrain(nil, Train{Flow: s.flow, Data: empty, Size: 1}); n != 0 || !errors.Is(err, ErrCookies) {
		t.Errorf("%d, %v", n, err)
	}
	var one [1]uint64
	if n := q.Completed(one[:]); n != 1 || one[0] != 1 {
		t.Errorf("%d cookies, %v", n, one)
	}
	if n, err := q.SendGather(gs); n != 1 || !errors.Is(err, ErrCookies) {
		t.Errorf("room for one: %d, %v", n, err)
	}
	s.expect(t, "the one", s.source[:10])
	all := make([]uint64, 1<<16)
	for end, n := time.Now().Add(5*time.Second), 0; n < len(all); n += q.Completed(all[n:]) {
		if time.Now().After(end) {
			t.Fatalf("%d cookies", n)
		}
	}
	if all[0] != 2 || all[len(all)-1] != 1<<17 {
		t.Errorf("from %d to %d", all[0], all[len(all)-1])
	}
}

// A trip is a train while something happens to the link.
func (s *studio) trip(t *testing.T, size int, happens func()) (sent int, err error) {
	t.Helper()
	pacer, e := NewPacer(PacerConfig{Gap: 200 * time.Microsecond})
	if e != nil {
		t.Fatal(e)
	}
	begun, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		sent, err = s.c.Queues()[0].SendTrain(soon(t), Train{
			Flow: s.flow, Data: s.slice(t, 3, 500*size), Size: size, Cookie: 1, Pacer: pacer,
			Header: func(i int, room []byte) int {
				if i == 100 {
					close(begun)
				}
				binary.BigEndian.PutUint32(room, uint32(i))
				return 4
			},
		})
	}()
	<-begun
	happens()
	<-done
	return sent, err
}

// numbers reads what arrives until nothing comes for a while.
func (s *studio) numbers(t *testing.T) (ns []int) {
	t.Helper()
	buf := make([]byte, 65536)
	for {
		s.peer.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := s.peer.Read(buf)
		if err != nil {
			return ns
		}
		if n < 4 {
			t.Fatal(n, "bytes")
		}
		ns = append(ns, int(binary.BigEndian.Uint32(buf)))
	}
}

// TestTrainTroubled loses nothing without a name, and its cookie comes, whatever
// happens to the link meanwhile.
func TestTrainTroubled(t *testing.T) {
	const size = 500
	for name, happens := range map[string]func(t *testing.T, s *studio){
		"neighbour": func(t *testing.T, s *studio) {
			if err := s.pair.B.FlushNeigh(); err != nil {
				t.Error(err)
			}
		},
		"MTU": func(t *testing.T, s *studio) {
			if err := errors.Join(s.pair.B.SetMTU(400), s.pair.A.SetMTU(400)); err != nil {
				t.Error(err)
			}
		},
		"down": func(t *testing.T, s *studio) {
			if err := s.pair.B.SetUp(false); err != nil {
				t.Error(err)
			}
		},
		"peer down": func(t *testing.T, s *studio) {
			if err := s.pair.A.SetUp(false); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
			if err := s.pair.A.SetUp(true); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(t, testnet.Config{MTU: 1500}, Config{})
			sent, err := s.trip(t, size, func() { happens(t, s) })
			if name == "down" {
				if !errors.Is(err, syscall.ENETDOWN) && !errors.Is(err, syscall.ENETUNREACH) && !errors.Is(err, xsk.ErrLost) {
					t.Errorf("sent %d: %v", sent, err)
				}
				if err := s.pair.B.SetUp(true); err != nil {
					t.Fatal(err)
				}
			}
			ns := s.numbers(t)
			s.cookies(t, 1)
			st := s.stats(t)
			var lost uint64
			for _, x := range st.Sockets {
				lost += x.TxLost
			}
			t.Logf("sent %d, %d arrived, %v; %d lost, %d by the kernel, %d refused, %d while down", sent, len(ns), err, lost, st.KernelTx, st.TxRefused, st.TxLinkDown)
			if !slices.IsSorted(ns) && name != "peer down" {
				t.Errorf("out of order: %v", ns)
			}
			if name == "peer down" {
				lost += st.KernelTx // the kernel may have to ask for the neighbour anew, and drops what it cannot hold
			}
			if len(ns)+int(lost+st.TxLinkDown) < sent {
				t.Errorf("%d of %d are lost without a name", sent-len(ns), sent)
			}
			if name == "neighbour" && (sent != 500 || err != nil || len(ns) != 500) {
				t.Error("not all arrived")
			}
		})
	}
}
