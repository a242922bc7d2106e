// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

var small = camera{size: 136, w: 50, h: 21} // 100 bytes a packet: 11 packets, the last of 50

func TestInOrder(t *testing.T) {
	for _, cam := range []camera{
		small, {size: 148, extended: true, w: 50, h: 21}, {size: 1500, w: 640, h: 480}, {size: 8000, w: 640, h: 480},
		{size: 136, w: 100, h: 10}, // the last packet is full
	} {
		t.Run(fmt.Sprint(cam), func(t *testing.T) {
			r := newRig(t, cam, Config{Buffers: 2})
			for id := uint64(1); id < 10; id++ {
				r.feed(epoch, cam.packets(id)...)
				m := r.next(id, Complete)
				want := gv.Leader{PayloadType: 1, PixelFormat: gv.Mono8, Width: cam.w, Height: cam.h, Timestamp: id}
				if m.Leader != want || m.Packets != len(cam.packets(id)) || len(m.Missing) > 0 {
					t.Errorf("%+v, %d packets, missing %v", m.Leader, m.Packets, m.Missing)
				}
				r.Release(m)
			}
			r.count(Counters{CompletedBuffers: 9})
		})
	}
}

// Any order, over two images at a time, the leader last included.
func TestAnyOrder(t *testing.T) {
	r := newRig(t, small, Config{})
	one, two := small.packets(1), small.packets(2)
	slices.Reverse(one)
	slices.Reverse(two)
	for i := range one {
		r.feed(epoch, one[i], two[i])
	}
	r.complete(1, 2)
	r.count(Counters{CompletedBuffers: 2})
}

// The next image may be whole before this one is: they come in their order.
func TestImagesInFlight(t *testing.T) {
	r := newRig(t, small, Config{})
	one, two := small.packets(1), small.packets(2)
	r.feed(epoch, one[:5]...)
	r.feed(epoch, two...)
	r.none()
	r.feed(at(5*ms), one[5:]...)
	r.complete(1, 2)
}

func TestMissingWithoutResend(t *testing.T) {
	r := newRig(t, small, Config{})
	r.feed(epoch, small.packets(1)...)
	r.complete(1)
	ps := small.packets(2)
	r.feed(epoch, ps[0], ps[1], ps[4], ps[5], ps[6])
	r.feed(at(10*ms), small.packets(3)...)
	r.Tick(at(19 * ms))
	r.none()
	r.Tick(at(21 * ms))
	m := r.next(2, Missing)
	if diff := cmp.Diff([]Range{{2, 3}, {7, 12}}, m.Missing); diff != "" {
		t.Error(diff)
	}
	want := small.image(2)
	clear(want[100:300])
	clear(want[600:])
	if !bytes.Equal(m.Data, want) {
		t.Error("what is missing must be zero, and not what the buffer held before")
	}
	r.complete(3)
	r.count(Counters{CompletedBuffers: 2, Failures: 1, MissingPackets: 8})
	if l := r.Counters().Loss(3); l != (Loss{Wire: 5, Ring: 3}) {
		t.Error(l)
	}
}

// Without a leader or a trailer, how many packets there are is known from the other.
func TestWithoutEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		skip    []int
		missing []Range
	}{
		{"leader", []int{0}, []Range{{0, 0}}},
		{"trailer", []int{12}, []Range{{12, 12}}},
		{"trailer and before", []int{11, 12}, []Range{{11, 12}}},
		{"both", []int{0, 12}, []Range{{0, 0}, {12, 12}}}, // known from the image before
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, small, Config{})
			r.feed(epoch, small.packets(1)...)
			r.complete(1)
			for i, p := range small.packets(2) {
				if !slices.Contains(c.skip, i) {
					r.feed(epoch, p)
				}
			}
			r.Tick(at(99 * ms))
			r.none()
			r.Tick(at(101 * ms))
			if diff := cmp.Diff(c.missing, r.next(2, TimedOut).Missing); diff != "" {
				t.Error(diff)
			}
			n := uint64(0)
			for _, m := range c.missing {
				n += uint64(m.Last-m.First) + 1
			}
			r.count(Counters{CompletedBuffers: 1, Failures: 1, Timeouts: 1, MissingPackets: n})
		})
	}
}

func TestResend(t *testing.T) {
	for _, cam := range []camera{small, {size: 148, extended: true, w: 50, h: 21}} {
		r := newRig(t, cam, Config{Resend: true, ResendRatio: 1})
		ps := cam.packets(7)
		r.feed(epoch, ps[0], ps[1], ps[4], ps[5])
		step := func(d time.Duration, want ...gv.Resend) {
			t.Helper()
			r.Tick(at(d))
			if diff := cmp.Diff(want, r.Requests(nil)); diff != "" {
				t.Errorf("after %v: %s", d, diff)
			}
		}
		ask := func(first, last uint32) gv.Resend {
			return gv.Resend{Block: 7, First: first, Last: last, Extended: cam.extended}
		}
		step(0)
		step(900 * time.Microsecond)
		step(1500*time.Microsecond, ask(2, 3))
		step(5 * ms)
		r.feed(at(6*ms), ps[2])
		step(20 * ms)
		step(22*ms, ask(3, 3))
		step(27 * ms) // silent for 20 ms: the rest is missed
		step(29*ms, ask(6, 12))
		r.none()
		for _, id := range []int{3, 6, 7, 8, 9, 10, 11, 12} {
			r.feed(at(30*ms), ps[id])
		}
		r.complete(7)
		r.count(Counters{CompletedBuffers: 1, ResendRequests: 10, ResentPackets: 9})
		if l := r.Counters().Loss(1); l != (Loss{Wire: 8, Ring: 1}) {
			t.Error(l)
		}
	}
}

// What the camera no longer has is not asked for again.
func TestResendRefused(t *testing.T) {
	r := newRig(t, small, Config{Resend: true})
	ps := small.packets(1)
	r.feed(epoch, ps[0], ps[2])
	r.Tick(epoch)
	r.Tick(at(2 * ms))
	r.Requests(nil)
	r.feed(at(3*ms), small.packet(1, gv.PartPayload, 1, gv.TemporarilyUnavailable, nil), small.packet(1, gv.PartPayload, 1, gv.Gone, nil))
	r.feed(at(4*ms), small.packets(2)...)
	r.Tick(at(25 * ms))
	if q := r.Requests(nil); len(q) > 0 {
		t.Errorf("asked for %v", q)
	}
	r.next(1, Missing)
	r.complete(2)
	r.count(Counters{CompletedBuffers: 1, Failures: 1, MissingPackets: 11, ErrorPackets: 2, ResendRequests: 1, ResendDisabled: 1})
}

func TestSizes(t *testing.T) {
	ps := small.packets(1)
	long := small.packet(1, gv.PartPayload, 3, gv.OK, make([]byte, 101))
	for _, c := range []struct {
		name string
		ps   [][]byte
	}{
		{"a packet too long", slices.Replace(slices.Clone(ps), 3, 4, long)},
		{"a packet too short", slices.Replace(slices.Clone(ps), 3, 4, ps[3][:90])},
		{"an empty packet", slices.Replace(slices.Clone(ps), 3, 4, ps[3][:8])},
		{"the last is full", slices.Replace(slices.Clone(ps), 11, 12, small.packet(1, gv.PartPayload, 11, gv.OK, make([]byte, 100)))},
		{"the last is missing", append(slices.Clone(ps[:11]), small.trailer(1, 11))},
		{"one too many", append(slices.Clone(ps[:12]), small.packet(1, gv.PartPayload, 12, gv.OK, []byte{1}), small.trailer(1, 13))},
		{"far too large", append(slices.Clone(ps[:12]), small.packet(1, gv.PartPayload, 0xffffff, gv.OK, []byte{1}), ps[12])},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, small, Config{})
			r.feed(epoch, c.ps...)
			r.Tick(at(200 * ms))
			r.next(1, SizeMismatch)
			if n := r.Counters(); n.SizeMismatchErrors == 0 || n.Failures != 1 {
				t.Errorf("\n%v", n)
			}
		})
	}
}

// A leader may claim anything; memory is taken for no more than was agreed to.
func TestMemoryIsBounded(t *testing.T) {
	huge := camera{size: 136, w: math.MaxUint32, h: math.MaxUint32}
	r := newRig(t, huge, Config{MaxImage: 1000})
	r.feed(epoch, huge.leader(1), small.packets(1)[10], small.packets(1)[11])
	r.Tick(at(200 * ms))
	if m := r.next(1, SizeMismatch); len(m.buf) > 1000 {
		t.Errorf("%d bytes", len(m.buf))
	}
}

// Several packets that are short, the last of them where no full one would have room:
// without a leader nobody knows how long the image is.
func TestShortPackets(t *testing.T) {
	for _, last := range []int{1, 90, 100} { // bytes, of 100
		r := newRig(t, camera{size: 136, w: 1, h: 1}, Config{MaxImage: 1000})
		r.feed(epoch,
			r.cam.packet(1, gv.PartPayload, 1, gv.OK, make([]byte, 7)),
			r.cam.packet(1, gv.PartPayload, 10, gv.OK, make([]byte, last)),
			r.cam.trailer(1, 11))
		r.Tick(at(200 * ms))
		if m := r.next(1, TimedOut); len(m.Data) > 1000 {
			t.Errorf("%d bytes", len(m.Data))
		}
		r = newRig(t, camera{size: 137, w: 1, h: 1}, Config{MaxImage: 1000}) // 101 bytes: the last does not fit whole
		r.feed(epoch,
			r.cam.packet(1, gv.PartPayload, 1, gv.OK, make([]byte, 7)),
			r.cam.packet(1, gv.PartPayload, 10, gv.OK, make([]byte, min(last, 91))))
		r.Abort()
		if m := r.next(1, Aborted); len(m.Data) > 1000 {
			t.Errorf("%d bytes", len(m.Data))
		}
	}
}

// Payload of another type than images has no size; its trailer tells where it ends.
func TestOtherPayload(t *testing.T) {
	r := newRig(t, small, Config{})
	ps := small.packets(1)
	ps[0][8+3] = 4 // chunk data
	r.feed(epoch, ps...)
	r.complete(1)
	ps = small.packets(2)
	ps[0] = ps[0][:12] // a leader that is none of an image
	r.feed(epoch, ps...)
	r.complete(2)
}

func TestNotGVSP(t *testing.T) {
	r := newRig(t, small, Config{})
	r.feed(epoch, nil, []byte{1, 2}, small.packet(0, gv.PartPayload, 1, gv.OK, nil), small.packet(5, gv.PartAll, 0, gv.OK, nil))
	r.feed(epoch, small.packets(1)...)
	r.complete(1)
	r.count(Counters{CompletedBuffers: 1, IgnoredPackets: 4, MalformedPackets: 3})
}

func TestAbort(t *testing.T) {
	r := newRig(t, small, Config{})
	r.feed(epoch, small.packets(1)[:3]...)
	r.feed(epoch, small.packets(2)...)
	r.Abort()
	r.Release(r.next(1, Aborted))
	r.complete(2)
	r.count(Counters{CompletedBuffers: 1, Aborted: 1})
}

// A camera that begins anew begins at 1.
func TestRestart(t *testing.T) {
	r := newRig(t, small, Config{})
	r.feed(epoch, small.packets(1000)...)
	r.feed(epoch, small.packets(1001)[:3]...)
	r.feed(epoch, small.packets(1)...)
	r.complete(1000)
	r.Release(r.next(1001, Missing))
	r.complete(1)
	r.feed(epoch, small.packets(2)...)
	r.complete(2)
	r.count(Counters{CompletedBuffers: 3, Failures: 1, MissingPackets: 10})
}
