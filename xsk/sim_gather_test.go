// SPDX-License-Identifier: MIT

package xsk

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xdpath/xdpath/umem"
)

// gatherSim is a simulated socket with a region of chunks full of a pattern.
func gatherSim(t testing.TB, chunks int) (*Socket, *sim, *umem.Region) {
	s, k := newSim(t, simConfig{multi: true, region: chunks, rx: 256, tx: 256, budget: 256})
	r, err := s.Area().NewRegion(chunks * 2048)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Bytes() {
		r.Bytes()[i] = byte(i ^ i>>8)
	}
	return s, k, r
}

// packetOf is a header of n bytes and a slice as one packet.
func packetOf(t testing.TB, s *Socket, header int, data umem.Slice) []umem.Frame {
	t.Helper()
	var f [1]umem.Frame
	if n, err := s.Reserve(f[:]); n != 1 {
		t.Fatalf("no frame: %v", err)
	}
	frames := data.Frames([]umem.Frame{f[0].WithLen(header)})
	b, err := s.Area().Bytes(frames[0])
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	for i := range frames {
		frames[i] = frames[i].WithMore(i < len(frames)-1)
	}
	return frames
}

func slice(t testing.TB, r *umem.Region, off, n int) umem.Slice {
	t.Helper()
	s, err := r.Slice(off, n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func track(t testing.TB, s *Socket) Ticket {
	t.Helper()
	var k [1]Ticket
	if n, err := s.Track(k[:]); n != 1 || err != nil {
		t.Fatalf("track: %d, %v", n, err)
	}
	return k[0]
}

// TestSimGather sends slices at every offset, across chunks, and reads them whole.
func TestSimGather(t *testing.T) {
	s, _, r := gatherSim(t, 8)
	for _, length := range []int{1, 2, 3, 63, 64, 1400, 1999, 2000, 2047, 2048, 2049, 4096, 6000, 8000} {
		for off := range 64 {
			data := slice(t, r, off+1990, length)
			frames := packetOf(t, s, 42, data)
			if n, err := s.Send(frames); n != len(frames) || err != nil {
				t.Fatalf("%d bytes at %d: sent %d of %d frames: %v", length, off, n, len(frames), err)
			}
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			var got [maxSegments]umem.Frame
			n, err := s.Receive(got[:])
			if n != len(frames) || err != nil {
				t.Fatalf("%d bytes at %d: received %d frames: %v", length, off, n, err)
			}
			var all []byte
			for _, f := range got[:n] {
				b, err := s.Area().Bytes(f)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, b...)
			}
			if !bytes.Equal(all[42:], data.Bytes()) {
				t.Fatalf("%d bytes at %d arrive as others", length, off)
			}
			if err := s.Release(got[:n]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSimCookieIsLast holds completions back, gives them in another order, and
// looks that no cookie comes before the last of its descriptors (must hold 2 of
// gather send).
func TestSimCookieIsLast(t *testing.T) {
	s, k, r := gatherSim(t, 8)
	k.lazy = true
	data := slice(t, r, 1000, 5000)
	var want []uint64
	for i := range 5 {
		frames := packetOf(t, s, 42, data) // the same bytes five times
		ticket := track(t, s)
		if n, err := s.SendTracked(frames, []Ticket{ticket}); n != len(frames) || err != nil {
			t.Fatalf("sent %d: %v", n, err)
		}
		if err := s.Seal([]Ticket{ticket}, []uint64{uint64(100 + i)}); err != nil {
			t.Fatal(err)
		}
		want = append(want, uint64(100+i))
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	owed := k.owed
	k.lazy, k.owed = false, nil
	rand.Shuffle(len(owed), func(i, j int) { owed[i], owed[j] = owed[j], owed[i] })
	left := map[uint64]int{} // descriptors in flight by address
	for _, addr := range owed {
		left[addr]++
	}
	var cookies []uint64
	for _, addr := range owed {
		k.finish(addr)
		left[addr]--
		var got [8]uint64
		n := s.Completed(got[:])
		cookies = append(cookies, got[:n]...)
		flying := 0
		for _, f := range data.Frames(nil) {
			flying = max(flying, left[s.Area().Address(f)])
		}
		if back := len(cookies); back > 5-flying {
			t.Fatalf("%d of 5 cookies are back while an address is in flight %d times", back, flying)
		}
	}
	slices.Sort(cookies)
	if !slices.Equal(cookies, want) {
		t.Errorf("cookies %v, want %v", cookies, want)
	}
}

// TestSimTrain gives one cookie for several packets, not before it is sealed.
func TestSimTrain(t *testing.T) {
	s, _, r := gatherSim(t, 8)
	ticket := track(t, s)
	for i := range 3 {
		frames := packetOf(t, s, 42, slice(t, r, 100*i, 100))
		if n, err := s.SendTracked(frames, []Ticket{ticket}); n != 2 || err != nil {
			t.Fatalf("sent %d: %v", n, err)
		}
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		var got [4]uint64
		if n := s.Completed(got[:]); n != 0 {
			t.Fatalf("cookie %d after packet %d, and more may follow", got[0], i)
		}
	}
	if err := s.Seal([]Ticket{ticket}, []uint64{7}); err != nil {
		t.Fatal(err)
	}
	var got [4]uint64
	if n := s.Completed(got[:]); n != 1 || got[0] != 7 {
		t.Errorf("%d cookies %v, want 7", n, got[:n])
	}
	if err := s.Seal([]Ticket{ticket}, []uint64{7}); !errors.Is(err, ErrTicket) {
		t.Errorf("sealed twice: %v", err)
	}
	frames := packetOf(t, s, 42, slice(t, r, 0, 10))
	if n, err := s.SendTracked(frames, []Ticket{ticket}); n != 0 || !errors.Is(err, ErrTicket) {
		t.Errorf("sent %d with a sealed ticket: %v", n, err)
	}
	if err := s.Release(frames[:1]); err != nil {
		t.Error(err)
	}
}

// TestSimGatherLimits is 18 frames that go and 19 that are refused, whole, and a
// packet with no room for all of it in the ring, which stays the caller's (case
// 91).
func TestSimGatherLimits(t *testing.T) {
	s, _, r := gatherSim(t, 8)
	var one [1]umem.Frame
	frames := func(n int) []umem.Frame {
		if k, err := s.Reserve(one[:]); k != 1 {
			t.Fatal(err)
		}
		fs := []umem.Frame{one[0].WithLen(42).WithMore(true)}
		for i := 1; i < n; i++ {
			fs = slice(t, r, 10*i, 10).Frames(fs)
			fs[i] = fs[i].WithMore(i < n-1)
		}
		return fs
	}
	if n, err := s.Send(frames(18)); n != 18 || err != nil {
		t.Errorf("18 frames: sent %d: %v", n, err)
	}
	before := s.tx.Pending()
	bad := frames(19)
	if n, err := s.Send(bad); n != 0 || !errors.Is(err, ErrLength) {
		t.Errorf("19 frames: sent %d: %v", n, err)
	}
	if s.tx.Pending() != before {
		t.Error("the ring was touched for a packet that was refused")
	}
	if err := s.Release(bad[:1]); err != nil {
		t.Error(err)
	}
	for i := 0; ; i++ {
		fs := frames(18)
		n, err := s.Send(fs)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if err := s.Release(fs[:1]); err != nil {
				t.Error(err)
			}
			if i != 256/18-1 {
				t.Errorf("%d packets went", i+1)
			}
			return
		}
	}
}

// TestSimGatherRefusals is frames of a region that must not be used as others.
func TestSimGatherRefusals(t *testing.T) {
	s, _, r := gatherSim(t, 2)
	f := slice(t, r, 0, 100).Frames(nil)[0]
	if _, err := s.Area().Bytes(f); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("bytes of a region's frame: %v", err)
	}
	if err := s.Release([]umem.Frame{f}); !errors.Is(err, umem.ErrFrame) {
		t.Errorf("release: %v", err)
	}
	other, _, r2 := gatherSim(t, 2)
	if n, err := other.Send([]umem.Frame{f}); n != 0 || !errors.Is(err, umem.ErrFrame) {
		t.Errorf("another area's: sent %d: %v", n, err)
	}
	for _, bad := range [][2]int{{-1, 1}, {0, -1}, {0, 4097}, {4096, 1}, {4097, 0}, {1, math.MaxInt}} {
		if _, err := r2.Slice(bad[0], bad[1]); err == nil {
			t.Errorf("slice of %d bytes at %d of 4096", bad[1], bad[0])
		}
		if _, err := slice(t, r2, 0, 4096).Sub(bad[0], bad[1]); err == nil {
			t.Errorf("sub of %d bytes at %d of 4096", bad[1], bad[0])
		}
	}
}

// TestSimCookiesAfterClose completes what a closed socket had under way.
func TestSimCookiesAfterClose(t *testing.T) {
	s, k, r := gatherSim(t, 2)
	k.lazy = true
	s.cfg.Linger = -1
	ticket := track(t, s)
	frames := packetOf(t, s, 42, slice(t, r, 0, 100))
	if n, err := s.SendTracked(frames, []Ticket{ticket}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if err := s.Seal([]Ticket{ticket}, []uint64{9}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	var got [4]uint64
	if n := s.Completed(got[:]); n != 0 {
		t.Fatal("completed before the kernel said so")
	}
	late := track(t, s) // sealed by who finds the socket closed
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.Completed(got[:]); n != 1 || got[0] != 9 {
		t.Errorf("after close: %d cookies %v", n, got[:n])
	}
	if err := s.Seal([]Ticket{late}, []uint64{10}); err != nil {
		t.Error(err)
	}
	if n := s.Completed(got[:]); n != 1 || got[0] != 10 {
		t.Errorf("sealed after close: %d cookies %v", n, got[:n])
	}
}

// TestTrackerModel plays the tracker against one that remembers everything.
func TestTrackerModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var tr tracker
	type packet struct {
		ticket Ticket
		cookie uint64
	}
	var flying []uint64
	counts := map[uint64]int{} // cookie -> descriptors in flight, and 1 until sealed
	owner := map[uint64][]uint64{}
	var open []packet
	next := uint64(1)
	due := map[uint64]bool{}
	for range 200_000 {
		switch x := rng.IntN(10); {
		case x < 2:
			open = append(open, packet{tr.begin(), next})
			counts[next] = 1
			next++
		case x < 6 && len(open) > 0 && len(flying) < 3000:
			p := open[rng.IntN(len(open))]
			addr := uint64(rng.IntN(500)) * 64
			tr.add(addr, p.ticket)
			counts[p.cookie]++
			owner[addr] = append(owner[addr], p.cookie)
			flying = append(flying, addr)
		case x < 8 && len(flying) > 0:
			i := rng.IntN(len(flying))
			addr := flying[i]
			flying[i] = flying[len(flying)-1]
			flying = flying[:len(flying)-1]
			tr.completed(addr)
			c := owner[addr][0]
			owner[addr] = owner[addr][1:]
			if counts[c]--; counts[c] == 0 {
				due[c] = true
			}
		case len(open) > 0:
			i := rng.IntN(len(open))
			p := open[i]
			open = slices.Delete(open, i, i+1)
			tr.seal(p.ticket, p.cookie)
			if counts[p.cookie]--; counts[p.cookie] == 0 {
				due[p.cookie] = true
			}
		}
		var got [4]uint64
		for _, c := range got[:tr.take(got[:])] {
			if !due[c] {
				t.Fatalf("cookie %d is not due", c)
			}
			delete(due, c)
		}
		if tr.flying != len(flying) {
			t.Fatalf("%d in flight, want %d", tr.flying, len(flying))
		}
		tr.completed(1) // an address that nobody tracks
	}
	if len(due) > 4 {
		t.Errorf("%d cookies were due and did not come", len(due))
	}
}

// TestTrackingDoesNotAllocate, once it has grown to what is in flight.
func TestTrackingDoesNotAllocate(t *testing.T) {
	s, _, r := gatherSim(t, 8)
	data := slice(t, r, 100, 3000)
	cookies, tickets := []uint64{1}, make([]Ticket, 1)
	frames := make([]umem.Frame, 0, 8)
	var one [1]umem.Frame
	var got [8]uint64
	rx := make([]umem.Frame, 32)
	round := func() {
		if n, err := s.Reserve(one[:]); n != 1 {
			t.Fatal(err)
		}
		frames = data.Frames(append(frames[:0], one[0].WithLen(42)))
		for i := range frames {
			frames[i] = frames[i].WithMore(i < len(frames)-1)
		}
		s.Track(tickets)
		if n, err := s.SendTracked(frames, tickets); n != len(frames) {
			t.Fatal(n, err)
		}
		s.Seal(tickets, cookies)
		s.Flush()
		n, _ := s.Receive(rx)
		s.Release(rx[:n])
		if s.Completed(got[:]) != 1 {
			t.Fatal("no cookie")
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
