// SPDX-License-Identifier: MIT

package intake

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

// sender is a camera without control: it sends images of noise to one address.
type sender struct {
	t    *testing.T
	conn *net.UDPConn
	size int // SCPS
	w, h int
}

func newSender(t *testing.T, end testnet.End, size, w, h int) *sender {
	t.Helper()
	s := &sender{t: t, size: size, w: w, h: h}
	err := end.NS.Do(func() (err error) {
		s.conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(end.IP4, 0)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	return s
}

func (s *sender) image(block uint64) []byte {
	b := make([]byte, s.w*s.h)
	rand.NewChaCha8([32]byte{byte(block), byte(block >> 8)}).Read(b)
	return b
}

// packets are all of an image.
func (s *sender) packets(block uint64) (ps [][]byte) {
	add := func(kind gv.Part, body []byte) {
		b := make([]byte, 20)
		n := gv.Packet{Block: block, Kind: kind, ID: uint32(len(ps))}.PutHeader(b)
		ps = append(ps, append(b[:n:n], body...))
	}
	end := make([]byte, gv.LeaderLen)
	gv.Leader{PayloadType: gv.PayloadImage, PixelFormat: gv.Mono8, Width: uint32(s.w), Height: uint32(s.h)}.Put(end)
	add(gv.PartLeader, end)
	full := gv.PacketPayload(s.size, false)
	for b := s.image(block); len(b) > 0; b = b[min(full, len(b)):] {
		add(gv.PartPayload, b[:min(full, len(b))])
	}
	gv.Trailer{PayloadType: gv.PayloadImage, Height: uint32(s.h)}.Put(end)
	add(gv.PartTrailer, end[:gv.TrailerLen])
	return ps
}

// send sends images, all packets of each at once.
func (s *sender) send(to netip.AddrPort, blocks ...uint64) {
	for _, block := range blocks {
		s.write(to, s.packets(block)...)
	}
}

func (s *sender) write(to netip.AddrPort, packets ...[]byte) {
	for _, p := range packets {
		if _, err := s.conn.WriteToUDPAddrPort(p, to); err != nil {
			s.t.Errorf("send: %v", err)
			return
		}
	}
}

// rig is a source with an intake, receiving.
type rig struct {
	*Intake
	t    *testing.T
	src  Source
	to   netip.AddrPort // where to send to
	stop context.CancelFunc
	done chan error
}

// via are the ways that a stream can come.
var via = map[string]func(t *testing.T, end testnet.End, camera netip.Addr) (Source, error){
	"xdp": func(t *testing.T, end testnet.End, camera netip.Addr) (Source, error) {
		return OpenFast(t.Context(), udp.Config{Interface: end.Name, Local: netip.AddrPortFrom(end.IP4, 0), RingSize: 4096}, camera)
	},
	"socket": func(t *testing.T, end testnet.End, camera netip.Addr) (Source, error) {
		return OpenSocket(netip.AddrPortFrom(end.IP4, 0), 32<<20, camera)
	},
}

func open(t *testing.T, way string, end testnet.End, camera netip.Addr, cfg assemble.Config) *rig {
	t.Helper()
	return openAsking(t, way, end, camera, cfg, nil)
}

// openAsking is open with a camera that can be asked for packets.
func openAsking(t *testing.T, way string, end testnet.End, camera netip.Addr, cfg assemble.Config, resend func(netip.AddrPort, gv.Resend) error) *rig {
	t.Helper()
	r := &rig{t: t, done: make(chan error, 1)}
	var ask func(gv.Resend) error
	if resend != nil {
		ask = func(q gv.Resend) error { return resend(r.to, q) }
	}
	var err error
	if r.Intake, err = New(cfg, ask); err != nil {
		t.Fatal(err)
	}
	if err := end.NS.Do(func() (err error) { r.src, err = via[way](t, end, camera); return err }); err != nil {
		t.Fatal(err)
	}
	r.to = netip.AddrPortFrom(end.IP4, r.src.Port())
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.done <- r.src.Receive(ctx, r.Intake) }()
	return r
}

// close ends it all; what it returns is the images that were left.
func (r *rig) close() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Error(err)
	}
	r.Close()
	if err := r.src.Close(); err != nil {
		r.t.Error(err)
	}
}

// next waits for an image.
func (r *rig) next() *assemble.Image {
	r.t.Helper()
	select {
	case m, ok := <-r.Images():
		if !ok {
			r.t.Fatal("there are no more images")
		}
		return m
	case err := <-r.done:
		r.t.Fatalf("the source has ended: %v", err)
	case <-time.After(20 * time.Second):
		r.t.Fatalf("no image came\n%v", r.Counters())
	}
	return nil
}

// complete waits for these images, and gives them back.
func (r *rig) complete(s *sender, blocks ...uint64) {
	r.t.Helper()
	for _, block := range blocks {
		m := r.next()
		if m.ID != block || m.Status != assemble.Complete || !bytes.Equal(m.Data, s.image(block)) {
			drops, err := r.src.Drops()
			r.t.Fatalf("got image %d, %v, missing %v; want %d, complete; %+v, %v", m.ID, m.Status, m.Missing, block, drops, err)
		}
		r.Release(m)
	}
}
