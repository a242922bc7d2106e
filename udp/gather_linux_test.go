// SPDX-License-Identifier: MIT

package udp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
	"golang.org/x/sys/unix"
)

// A studio is a Conn on end B whose area has a region, and a kernel socket on end A.
// The area lies in a memfd, which another process could fill: source is the region
// as that sees it.
type studio struct {
	*link
	area   *umem.Area
	region *umem.Region
	source []byte
	flow   *Flow
}

const regionBytes = 1 << 18

func newStudio(t testing.TB, n testnet.Config, cfg Config) *studio {
	t.Helper()
	s := &studio{}
	const chunk, frames = 4096, 512
	size := regionBytes + 2*frames*chunk
	fd, err := unix.MemfdCreate("studio", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	mem := mapping(t, fd, size)
	s.source = mapping(t, fd, size)
	if s.area, err = umem.New(umem.Config{ChunkSize: chunk, Memory: mem, Chunks: size / chunk}); err != nil {
		t.Fatal(err)
	}
	if s.region, err = s.area.NewRegion(regionBytes); err != nil {
		t.Fatal(err)
	}
	s.source = s.source[s.region.Offset():][:regionBytes]
	for i := range s.source {
		s.source[i] = byte(i*7 + i>>8)
	}
	t.Cleanup(func() { // after the Conn's
		if err := s.area.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg.Area = s.area
	if cfg.RingSize == 0 {
		cfg.RingSize, cfg.TxFrames = frames, frames
	}
	s.link = newLink(t, n, cfg)
	if err := s.peer.SetReadBuffer(4 << 20); err != nil {
		t.Fatal(err)
	}
	s.flow = s.c.Flow(s.from)
	if s.c.kernel == nil {
		s.settle(t, s.flow)
	}
	return s
}

// settle waits until a flow has a fast lane.
func (s *studio) settle(t testing.TB, fl *Flow) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); fl.MaxPayload() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no fast lane: %v", fl)
		}
	}
}

func mapping(t testing.TB, fd, size int) []byte {
	t.Helper()
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

// readOnly takes the right to write the region from this process: who tries
// crashes.
func (s *studio) readOnly(t testing.TB) {
	t.Helper()
	if err := unix.Mprotect(s.region.Bytes(), unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
}

func (s *studio) slice(t testing.TB, off, n int) umem.Slice {
	t.Helper()
	x, err := s.region.Slice(off, n)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// send sends datagrams to the last one, waiting for room.
func (s *studio) send(t testing.TB, gs []Gather) {
	t.Helper()
	q := s.c.Queues()[0]
	for end := time.Now().Add(10 * time.Second); len(gs) > 0; {
		n, err := q.SendGather(gs)
		if err != nil {
			t.Fatal(err)
		}
		if gs = gs[n:]; n == 0 && time.Now().After(end) {
			t.Fatal("no room for 10 s")
		}
	}
}

// expect reads a datagram at the peer and compares it.
func (s *studio) expect(t testing.TB, what string, want ...[]byte) {
	t.Helper()
	buf := make([]byte, 65536)
	s.peer.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := s.peer.Read(buf)
	if err != nil {
		t.Fatalf("%s: %v; %v", what, err, s.stats(t))
	}
	if all := bytes.Join(want, nil); !bytes.Equal(buf[:n], all) {
		t.Fatalf("%s: %d bytes came that are not the %d sent", what, n, len(all))
	}
}

func (s *studio) stats(t testing.TB) Stats {
	t.Helper()
	st, err := s.c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// cookies waits until all of want are back.
func (s *studio) cookies(t testing.TB, want ...uint64) {
	t.Helper()
	q := s.c.Queues()[0]
	var all []uint64
	for end := time.Now().Add(5 * time.Second); len(all) < len(want); time.Sleep(100 * time.Microsecond) {
		var got [16]uint64
		all = append(all, got[:q.Completed(got[:])]...)
		if time.Now().After(end) {
			t.Fatalf("cookies %v, want %v", all, want)
		}
	}
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Fatalf("cookies %v, want %v", all, want)
	}
}

// TestGatherExact sends from every offset, all lengths around what matters, with
// each policy and checksum, out of memory that this process cannot write.
func TestGatherExact(t *testing.T) {
	lengths := []int{0, 1, 2, 3, 31, 63, 64, 65, 127, 128, 1000, 1471, 1472, 3967, 3968, 3969, 4031, 4032, 4095, 4096, 4097, 8000, 8191, 8192, 8193, 8963, 8972 - 8}
	for _, policy := range []GatherPolicy{GatherAuto, GatherAlways, GatherCopy} {
		for _, sum := range []TxChecksum{TxSoftware, TxNone} {
			t.Run(fmt.Sprint("policy ", policy, " sum ", sum), func(t *testing.T) {
				s := newStudio(t, testnet.Config{MTU: 9000}, Config{Gather: policy, TxChecksum: sum})
				s.readOnly(t)
				header := []byte("8 bytes.")
				for off := range 64 {
					for i := off % 3; i < len(lengths); i += 3 { // every third: all in three offsets
						data := s.slice(t, 4096*3-40+off, lengths[i])
						s.send(t, []Gather{{Header: header, Slices: []umem.Slice{data}, Flow: s.flow}})
						s.expect(t, fmt.Sprintf("%d bytes at %d", lengths[i], off), header, data.Bytes())
					}
				}
				st := s.stats(t)
				if st.KernelTx != 0 || st.Gathered+st.Copied != st.FastTx {
					t.Errorf("%d by the kernel, %d gathered, %d copied of %d", st.KernelTx, st.Gathered, st.Copied, st.FastTx)
				}
				switch {
				case policy == GatherAuto && (st.Gathered == 0 || st.Copied == 0),
					policy == GatherCopy && st.Gathered > 0, policy == GatherAlways && st.Copied > 64: // the empty ones
					t.Errorf("%d gathered, %d copied", st.Gathered, st.Copied)
				}
			})
		}
	}
}

// TestGatherManyPieces sends odd pieces with a checksum over them all; 18
// descriptors go, 19 do not, nor does anything of them (case 91).
func TestGatherManyPieces(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000}, Config{Gather: GatherAlways, TxChecksum: TxSoftware})
	pieces := func(n int) (ps []umem.Slice, all []byte) {
		for i := range n {
			p := s.slice(t, 301*i, 100+i)
			ps, all = append(ps, p), append(all, p.Bytes()...)
		}
		return ps, all
	}
	ps, all := pieces(17)
	s.send(t, []Gather{{Slices: ps, Flow: s.flow, Cookie: 17}})
	s.expect(t, "18 descriptors", all)
	s.cookies(t, 17)

	q := s.c.Queues()[0]
	bad, _ := pieces(18)
	before := s.stats(t)
	n, err := q.SendGather([]Gather{{Slices: bad, Flow: s.flow, Cookie: 18}, {Slices: ps, Flow: s.flow, Cookie: 19}})
	var which *SendError
	if n != 2 || !errors.Is(err, ErrPieces) || !errors.Is(err, syscall.EMSGSIZE) || !errors.As(err, &which) || which.Index != 0 {
		t.Errorf("19 descriptors: %d, %v", n, err)
	}
	s.expect(t, "the one after it", all)
	s.cookies(t, 19)
	if after := s.stats(t); after.FastTx != before.FastTx+1 || after.KernelTx != before.KernelTx || after.TxRefused != 0 {
		t.Errorf("sent %d, refused by the ring %d", after.FastTx-before.FastTx, after.TxRefused)
	}
}

// TestGatherTooManyPiecesIsCopied when the policy lets it.
func TestGatherTooManyPiecesIsCopied(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000}, Config{})
	var ps []umem.Slice
	var all []byte
	for i := range 40 {
		p := s.slice(t, 301*i, 200)
		ps, all = append(ps, p), append(all, p.Bytes()...)
	}
	s.send(t, []Gather{{Slices: ps, Flow: s.flow, Cookie: 1}})
	s.expect(t, "40 pieces", all)
	s.cookies(t, 1)
	if st := s.stats(t); st.Copied != 1 {
		t.Errorf("%d copied", st.Copied)
	}
}

// TestGatherByKernel is what the fast lane does not take: over the MTU, to this
// host, and to nobody.
func TestGatherByKernel(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 1500}, Config{})
	big := s.slice(t, 5, 20000)
	s.send(t, []Gather{{Header: []byte("h"), Slices: []umem.Slice{big}, Flow: s.flow, Cookie: 1}})
	s.expect(t, "over the MTU", []byte("h"), big.Bytes())
	s.cookies(t, 1)
	if st := s.stats(t); st.KernelTx != 1 || st.Copied != 1 {
		t.Errorf("%d by the kernel, %d copied", st.KernelTx, st.Copied)
	}
	q := s.c.Queues()[0]
	nowhere := netip.MustParseAddrPort("203.0.113.1:9")
	n, err := q.SendGather([]Gather{{Slices: []umem.Slice{big}, Dst: nowhere, Cookie: 2}})
	if n != 1 || !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("to nowhere: %d, %v", n, err)
	}
	var got [1]uint64
	if q.Completed(got[:]) != 0 {
		t.Error("the cookie of a datagram that was refused came")
	}
}

// TestGatherRefusesForeignSlices, those of another area.
func TestGatherRefusesForeignSlices(t *testing.T) {
	for name, cfg := range map[string]Config{"fast": {}, "kernel": {Mode: xsk.ZeroCopy, Fallback: FallbackAllow}} {
		t.Run(name, func(t *testing.T) { refuseForeign(t, newStudio(t, testnet.Config{}, cfg)) })
	}
}

func refuseForeign(t *testing.T, s *studio) {
	other, err := umem.New(umem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, err := other.NewRegion(4096)
	if err != nil {
		t.Fatal(err)
	}
	x, err := r.Slice(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.c.Queues()[0].SendGather([]Gather{{Slices: []umem.Slice{x}, Flow: s.flow}}); n != 1 || !errors.Is(err, umem.ErrFrame) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestTrain sends a whole image as numbered datagrams, more than the ring holds.
func TestTrain(t *testing.T) {
	for _, mtu := range []int{1500, 9000} {
		for _, policy := range []GatherPolicy{GatherAuto, GatherAlways} {
			t.Run(fmt.Sprint("MTU ", mtu, " policy ", policy), func(t *testing.T) {
				s := newStudio(t, testnet.Config{MTU: mtu}, Config{Gather: policy, TxChecksum: TxSoftware})
				s.readOnly(t)
				size := mtu - 28 - 8
				data := s.slice(t, 77, regionBytes-100)
				done := make(chan error, 1)
				go func() {
					_, err := s.c.Queues()[0].SendTrain(soon(t), Train{
						Flow: s.flow, Data: data, Size: size, First: 1000, Cookie: 5,
						Header: func(i int, room []byte) int {
							binary.BigEndian.PutUint64(room, uint64(i))
							return 8
						},
					})
					done <- err
				}()
				for i := 0; i*size < data.Len(); i++ {
					var header [8]byte
					binary.BigEndian.PutUint64(header[:], uint64(1000+i))
					s.expect(t, fmt.Sprint("datagram ", i), header[:], data.Bytes()[i*size:min((i+1)*size, data.Len())])
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				s.cookies(t, 5)
			})
		}
	}
}

// TestPacedTrain sends each datagram when it is due: the pacer has seen them all,
// and none before its time.
func TestPacedTrain(t *testing.T) {
	s := newStudio(t, testnet.Config{}, Config{})
	p, err := NewPacer(PacerConfig{Gap: 100 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	const size, count = 1000, 200
	data := s.slice(t, 3, size*count)
	begun := time.Now()
	n, err := s.c.Queues()[0].SendTrain(soon(t), Train{Flow: s.flow, Data: data, Size: size, Cookie: 1, Pacer: p})
	took := time.Since(begun)
	if n != count || err != nil {
		t.Fatalf("sent %d: %v", n, err)
	}
	st := p.Stats()
	if st.Count != count-1 {
		t.Errorf("%d gaps measured", st.Count)
	}
	if least := (count - 1) * 50 * time.Microsecond; took < least {
		t.Errorf("took %v, at least %v", took, least) // catching up is by half gaps at most
	}
	for i := range count {
		s.expect(t, fmt.Sprint("datagram ", i), data.Bytes()[i*size:(i+1)*size])
	}
	s.cookies(t, 1)
}

// TestTrainEnds with what ends it, and its cookie comes all the same.
func TestTrainEnds(t *testing.T) {
	s := newStudio(t, testnet.Config{}, Config{})
	q := s.c.Queues()[0]
	data := s.slice(t, 0, 10000)
	if n, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 0}); n != 0 || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("size 0: %d, %v", n, err)
	}
	long := func(int, []byte) int { return HeaderRoom + 1 }
	if n, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 10, Header: long, Cookie: 1}); n != 0 || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("long header: %d, %v", n, err)
	}
	s.cookies(t, 1)
	if n, err := q.SendTrain(nil, Train{Flow: s.c.Flow(netip.MustParseAddrPort("203.0.113.1:9")), Data: data, Size: 10, Cookie: 2}); n != 0 || !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("to nowhere: %d, %v", n, err)
	}
	s.cookies(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// Without the kernel's help nothing drains: more than the ring holds stops.
	if err := s.pair.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	if n, err := q.SendTrain(ctx, Train{Flow: s.flow, Data: s.slice(t, 0, regionBytes), Size: 10, Cookie: 3}); err == nil {
		t.Errorf("sent %d with a cancelled context", n)
	}
	if err := s.c.Close(); err != nil {
		t.Error(err)
	}
	s.cookies(t, 3)
	if n, err := q.SendTrain(nil, Train{Flow: s.flow, Data: data, Size: 10}); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("after close: %d, %v", n, err)
	}
	if n, err := q.SendGather([]Gather{{Slices: []umem.Slice{data}, Flow: s.flow}}); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("after close: %d, %v", n, err)
	}
}

// TestLongDatagrams go out whole by ordinary sends too: of a batch with short ones,
// and of a PacketConn.
func TestLongDatagrams(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000}, Config{TxChecksum: TxSoftware})
	q := s.c.Queues()[0]
	for round := range 200 { // more than there are frames
		var os [5]Outgoing
		if n, err := q.ReserveContext(soon(t), os[:]); n < 2 || err != nil {
			t.Fatal(n, err)
		} else if n < 5 {
			if err := q.Abort(os[:n]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for i := range os {
			os[i].Flow = s.flow
			os[i].Payload = os[i].Payload[:copy(os[i].Payload, s.source[:10*i])]
		}
		long := s.source[round : round+3969+25*round]
		os[1].Payload, os[3].Payload = long, long[:3969]
		for sent := 0; sent < 5; {
			n, err := q.Send(os[sent:])
			if err != nil {
				t.Fatal(err)
			}
			sent += n
		}
		for i := range 5 {
			want := s.source[:10*i]
			switch i {
			case 1:
				want = long
			case 3:
				want = long[:3969]
			}
			s.expect(t, fmt.Sprint("round ", round, " datagram ", i), want)
		}
	}
	pc := s.c.PacketConn()
	for i := range 100 {
		b := s.source[i : i+3900+50*i]
		if _, err := pc.WriteToUDPAddrPort(b, s.from); err != nil {
			t.Fatal(err)
		}
		s.expect(t, fmt.Sprint("write ", i), b)
	}
	if st := s.stats(t); st.KernelTx != 0 {
		t.Errorf("%d by the kernel", st.KernelTx)
	}
}

// TestGatherDoesNotAllocate in steady state.
func TestGatherDoesNotAllocate(t *testing.T) {
	s := newStudio(t, testnet.Config{MTU: 9000}, Config{TxChecksum: TxSoftware})
	q := s.c.Queues()[0]
	ps := []umem.Slice{s.slice(t, 100, 5000), s.slice(t, 9000, 100)}
	gs := make([]Gather, 4)
	cookies := make([]uint64, 16)
	header := []byte("header")
	round := func() {
		for i := range gs {
			gs[i] = Gather{Header: header, Slices: ps[:1+i%2], Flow: s.flow, Cookie: 1}
		}
		if n, err := q.SendGather(gs); n != len(gs) && err != nil {
			t.Fatal(n, err)
		}
		q.Completed(cookies)
	}
	round()
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations for %d datagrams", n, len(gs))
	}
}
