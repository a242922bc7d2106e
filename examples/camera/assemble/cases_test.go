// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Only leader and trailer arrive, because nothing larger fits on the way: that is
// told, as loss of all that is between.
func TestOnlyEnds(t *testing.T) {
	cam := camera{size: 8228, w: 512, h: 160} // 10 packets of 8192
	r := newRig(t, cam, Config{})
	for id := uint64(1); id <= 3; id++ {
		ps := cam.packets(id)
		r.feed(epoch, ps[0], ps[len(ps)-1])
	}
	r.Tick(at(101 * ms))
	for id := uint64(1); id <= 3; id++ {
		m := r.next(id, map[bool]Status{true: Missing, false: TimedOut}[id < 3])
		if diff := cmp.Diff([]Range{{1, 10}}, m.Missing); diff != "" {
			t.Error(diff)
		}
	}
	r.count(Counters{Failures: 3, Timeouts: 1, MissingPackets: 30})
}

// An image of 20 MB in packets of 1500 bytes, back to back, lacks what a buffer
// somewhere had no room for: exactly that is missing.
func TestLargeBurst(t *testing.T) {
	cam := camera{size: 1500, w: 5000, h: 4000}
	r := newRig(t, cam, Config{Buffers: 1})
	ps := cam.packets(1)
	room := len(ps) / 3
	r.feed(epoch, ps[:room]...)
	r.feed(epoch, ps[len(ps)-1])
	r.Tick(at(101 * ms))
	m := r.next(1, TimedOut)
	lost := len(ps) - 1 - room
	if diff := cmp.Diff([]Range{{uint32(room), uint32(len(ps) - 2)}}, m.Missing); diff != "" {
		t.Error(diff)
	}
	if l := r.Counters().Loss(uint64(lost)); l != (Loss{Ring: uint64(lost)}) {
		t.Error(l)
	}
	r.Release(m)
	r.feed(at(time.Second), cam.packets(2)...)
	r.complete(2)
}

// Images of one packet, of one with an empty one behind, and of none.
func TestTinyImages(t *testing.T) {
	cam := camera{size: 1500, w: 8, h: 4}
	r := newRig(t, cam, Config{Buffers: 1})
	r.feed(epoch, cam.packets(1)...)
	r.complete(1)
	empty := func(block uint64, id uint32) []byte { return cam.packet(block, gv.PartPayload, id, gv.OK, nil) }
	r.feed(epoch, cam.packets(2)[0], cam.packets(2)[1], empty(2, 2), cam.trailer(2, 3))
	r.complete(2)
	r.feed(epoch, cam.trailer(3, 3), empty(3, 2), cam.packets(3)[1], cam.leader(3)) // the other way round
	r.complete(3)
	r.cam.w, r.cam.h = 0, 0
	r.feed(epoch, r.cam.leader(4), r.cam.trailer(4, 1))
	r.complete(4)
	r.feed(epoch, r.cam.leader(5), empty(5, 1), r.cam.trailer(5, 2))
	r.complete(5)
	r.count(Counters{CompletedBuffers: 5})
}

// One lost packet of a tiny image may be asked for, whatever the ratio says.
func TestTinyResend(t *testing.T) {
	cam := camera{size: 1500, w: 8, h: 4}
	r := newRig(t, cam, Config{Resend: true, ResendRatio: 0.01})
	ps := cam.packets(1)
	r.feed(epoch, ps[0], ps[2])
	r.Tick(epoch)
	r.Tick(at(1 * ms))
	if diff := cmp.Diff([]gv.Resend{{Block: 1, First: 1, Last: 1}}, r.Requests(nil)); diff != "" {
		t.Fatal(diff)
	}
	r.feed(at(2*ms), ps[1])
	r.complete(1)
}

// A consumer that is too slow costs whole images; the ones that it holds stay as they
// are; what comes after it has caught up is received.
func TestSlowConsumer(t *testing.T) {
	r := newRig(t, small, Config{Buffers: 3})
	var held []*Image
	for id := uint64(1); id <= 8; id++ {
		r.feed(epoch, small.packets(id)...)
		if id <= 3 {
			held = append(held, r.next(id, Complete))
		}
		r.none()
	}
	r.count(Counters{CompletedBuffers: 3, Underruns: 5, IgnoredPackets: 5 * 13, RefusedPackets: 5 * 13})
	if l := r.Counters().Loss(0); l != (Loss{Consumer: 5 * 13}) {
		t.Error(l)
	}
	// A buffer that comes free in the middle of an image does not begin a torn one.
	nine := small.packets(9)
	r.feed(epoch, nine[:4]...)
	for i, m := range held {
		if !bytes.Equal(m.Data, small.image(uint64(i+1))) {
			t.Errorf("image %d was written to while it was held", m.ID)
		}
		r.Release(m)
		r.Release(m) // once too often: nothing comes of it
	}
	r.feed(epoch, nine[4:]...)
	r.none()
	r.feed(epoch, small.packets(10)...)
	r.complete(10)
	r.count(Counters{CompletedBuffers: 4, Underruns: 6, IgnoredPackets: 6 * 13, RefusedPackets: 6 * 13})
	if len(r.free) != 3 {
		t.Errorf("%d buffers of 3 are free", len(r.free))
	}
}

// Out of order, with duplicates: the first that is valid counts. One with another's
// number and other contents makes the image incomplete, rather than silently wrong.
func TestDuplicates(t *testing.T) {
	cam := camera{size: 136, w: 1000, h: 100} // 1000 packets
	run := func(wrong bool) (*rig, *Image) {
		r := newRig(t, cam, Config{Resend: true})
		ps := cam.packets(1)
		for id := 0; id < len(ps); id++ {
			if id < 265 || id > 267 {
				r.feed(epoch, ps[id^1]) // neighbours change places
			}
		}
		r.feed(epoch, ps[264], ps[0], ps[1001], ps[500])
		r.Tick(epoch)
		r.Tick(at(ms))
		if wrong {
			r.feed(at(2*ms), cam.packet(1, gv.PartPayload, 500, gv.Resent, make([]byte, 100)))
		}
		for _, q := range r.Requests(nil) {
			for id := q.First; id <= q.Last; id++ {
				p := slices.Clone(ps[id])
				p[0] = 1 // says that it is resent
				r.feed(at(2*ms), p, p)
			}
		}
		m, ok := r.Next()
		if !ok {
			t.Fatalf("no image\n%v", r.Counters())
		}
		return r, m
	}
	r, m := run(false)
	if m.Status != Complete || !bytes.Equal(m.Data, cam.image(1)) {
		t.Errorf("%v, missing %v", m.Status, m.Missing)
	}
	if c := r.Counters(); c.ConflictingPackets != 0 || c.DuplicatedPackets < 4 || c.ResentPackets != c.ResendRequests {
		t.Errorf("\n%v", c)
	}
	r, m = run(true)
	if m.Status != Conflicting || !bytes.Equal(m.Data, cam.image(1)) {
		t.Errorf("%v; the first copy must win", m.Status)
	}
	if c := r.Counters(); c.ConflictingPackets != 1 || c.Failures != 1 {
		t.Errorf("\n%v", c)
	}
}

// Which packets are missing is told exactly.
func TestMissingList(t *testing.T) {
	cam := camera{size: 136, w: 1000, h: 100}
	r := newRig(t, cam, Config{Resend: true})
	for id, p := range cam.packets(1) {
		if id < 265 || id > 267 {
			r.feed(epoch, p)
		}
	}
	r.Tick(epoch)
	r.Tick(at(ms))
	if diff := cmp.Diff([]gv.Resend{{Block: 1, First: 265, Last: 267}}, r.Requests(nil)); diff != "" {
		t.Error(diff)
	}
	r.Tick(at(101 * ms))
	if diff := cmp.Diff([]Range{{265, 267}}, r.next(1, TimedOut).Missing); diff != "" {
		t.Error(diff)
	}
}

// A camera that answers 300 ms late, a thousand packets, while other images flow:
// they are dropped, and how much is asked for stays in bounds.
func TestLateResends(t *testing.T) {
	cam := camera{size: 136, w: 400, h: 1000} // 4000 packets
	r := newRig(t, cam, Config{Resend: true})
	first := cam.packets(1)
	r.feed(epoch, first[:1]...)
	r.feed(epoch, first[1001:]...) // a quarter is missing
	for d := time.Duration(0); d < 101*ms; d += ms / 2 {
		r.Tick(at(d))
	}
	r.Release(r.next(1, TimedOut))
	asked := r.Counters().ResendRequests
	if limit := uint64(len(first)) / 4; asked == 0 || asked > limit {
		t.Errorf("%d packets were asked for, at most %d may be", asked, limit)
	}
	for id := uint64(2); id <= 10; id++ {
		ps := cam.packets(id)
		for i, p := range ps {
			r.feed(at(300*ms), p)
			if i%4 == 0 {
				r.feed(at(300*ms), first[1+i/4])
			}
		}
		r.complete(id)
	}
	c := r.Counters()
	if c.LatePackets != c.IgnoredPackets || c.LatePackets < 9*1000 || c.ResendRequests != asked || c.Failures != 1 {
		t.Errorf("\n%v", c)
	}
}

// Standard ids go from 65535 to 1; one image is skipped, and exactly one is missed.
func TestWrap(t *testing.T) {
	r := newRig(t, small, Config{})
	for _, id := range []uint64{65533, 65534, 1, 2} { // without 65535
		r.feed(epoch, small.packets(id)...)
		r.complete(id)
	}
	r.count(Counters{CompletedBuffers: 4, MissingFrames: 1})
	r.feed(epoch, small.packets(65534)[1]) // late, across the wrap
	r.count(Counters{CompletedBuffers: 4, MissingFrames: 1, IgnoredPackets: 1, LatePackets: 1})
	r = newRig(t, small, Config{})
	for _, id := range []uint64{65535, 1} {
		r.feed(epoch, small.packets(id)...)
		r.complete(id)
	}
	r.count(Counters{CompletedBuffers: 2})
}

// Extended ids have 64 bits and do not wrap there.
func TestExtendedIDs(t *testing.T) {
	cam := camera{size: 148, extended: true, w: 50, h: 21}
	r := newRig(t, cam, Config{})
	for _, id := range []uint64{65534, 65535, 65536, 65538} {
		r.feed(epoch, cam.packets(id)...)
		r.complete(id)
	}
	r.count(Counters{CompletedBuffers: 4, MissingFrames: 1})
	r = newRig(t, cam, Config{})
	for _, id := range []uint64{1<<64 - 2, 1<<64 - 1} {
		r.feed(epoch, cam.packets(id)...)
		r.complete(id)
	}
}
