// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

var epoch = time.Unix(1_700_000_000, 0)

func at(d time.Duration) time.Time { return epoch.Add(d) }

const ms = time.Millisecond

// camera makes the packets of images of noise.
type camera struct {
	size     int // SCPS
	extended bool
	w, h     uint32
}

func (c camera) image(block uint64) []byte {
	b := make([]byte, c.w*c.h)
	r := rand.NewChaCha8([32]byte{byte(block), byte(block >> 8)})
	r.Read(b)
	return b
}

func (c camera) packet(block uint64, kind gv.Part, id uint32, status gv.Status, body []byte) []byte {
	b := make([]byte, 20, 20+len(body))
	n := gv.Packet{Status: status, Block: block, Kind: kind, ID: id, Extended: c.extended}.PutHeader(b)
	return append(b[:n], body...)
}

func (c camera) leader(block uint64) []byte {
	b := make([]byte, gv.LeaderLen)
	gv.Leader{PayloadType: gv.PayloadImage, PixelFormat: gv.Mono8, Width: c.w, Height: c.h, Timestamp: block}.Put(b)
	return c.packet(block, gv.PartLeader, 0, gv.OK, b)
}

func (c camera) trailer(block uint64, id uint32) []byte {
	b := make([]byte, gv.TrailerLen)
	gv.Trailer{PayloadType: gv.PayloadImage, Height: c.h}.Put(b)
	return c.packet(block, gv.PartTrailer, id, gv.OK, b)
}

// packets are all of an image, by their id.
func (c camera) packets(block uint64) [][]byte {
	ps := [][]byte{c.leader(block)}
	payload := gv.PacketPayload(c.size, c.extended)
	for b := range chunks(c.image(block), payload) {
		ps = append(ps, c.packet(block, gv.PartPayload, uint32(len(ps)), gv.OK, b))
	}
	return append(ps, c.trailer(block, uint32(len(ps))))
}

func chunks(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for ; len(b) > n; b = b[n:] {
			if !yield(b[:n]) {
				return
			}
		}
		if len(b) > 0 {
			yield(b)
		}
	}
}

// rig is an assembler whose images are looked at as they come.
type rig struct {
	*Assembler
	t   testing.TB
	cam camera
}

func newRig(t testing.TB, cam camera, cfg Config) *rig {
	t.Helper()
	cfg.PacketSize = cam.size
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{a, t, cam}
}

// feed gives packets, in pieces as paged reception does.
func (r *rig) feed(now time.Time, packets ...[]byte) {
	for i, p := range packets {
		first, rest := p, [][]byte(nil)
		if len(p) > 64 {
			cut := 20 + i%30
			first, rest = p[:cut], [][]byte{p[cut:50], p[50:]}
		}
		r.Packet(first, rest, now)
	}
}

// next takes an image, which must be there, have this id and this status.
func (r *rig) next(id uint64, status Status) *Image {
	r.t.Helper()
	m, ok := r.Next()
	if !ok {
		r.t.Fatalf("image %d: none is ready\n%v", id, r.Counters())
	}
	if m.ID != id || m.Status != status {
		r.t.Fatalf("got image %d, %v, missing %v; want %d, %v", m.ID, m.Status, m.Missing, id, status)
	}
	if status == Complete && !bytes.Equal(m.Data, r.cam.image(id)) {
		r.t.Fatalf("image %d: contents are wrong", id)
	}
	return m
}

// complete takes an image and gives it back.
func (r *rig) complete(ids ...uint64) {
	r.t.Helper()
	for _, id := range ids {
		r.Release(r.next(id, Complete))
	}
}

func (r *rig) none() {
	r.t.Helper()
	if m, ok := r.Next(); ok {
		r.t.Fatalf("image %d, %v, is ready", m.ID, m.Status)
	}
}

// count checks counters: those that want has, and no others but those of traffic.
func (r *rig) count(want Counters) {
	r.t.Helper()
	got := r.Counters()
	want.ReceivedPackets, want.TransferredBytes, want.IgnoredBytes = got.ReceivedPackets, got.TransferredBytes, got.IgnoredBytes
	if got != want {
		r.t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}
