// SPDX-License-Identifier: MIT

package intake

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/control"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
)

func TestStream(t *testing.T) {
	for way := range via {
		for _, mtu := range []int{1500, 9000} {
			t.Run(fmt.Sprint(way, " ", mtu), func(t *testing.T) {
				testnet.Leaks(t)
				pair := testnet.TestPair(t, testnet.Config{MTU: mtu, Queues: 2})
				s := newSender(t, pair.A, mtu, 640, 480)
				r := open(t, way, pair.B, pair.A.IP4, assemble.Config{PacketSize: mtu})
				t.Log(r.src)
				for id := uint64(1); id <= 30; id++ {
					s.send(r.to, id)
					r.complete(s, id)
				}
				r.close()
				if c := r.Counters(); c.CompletedBuffers != 30 || c.Failures != 0 {
					t.Errorf("\n%v", c)
				}
			})
		}
	}
}

// Nobody but the camera has a say.
func TestOtherSource(t *testing.T) {
	for way := range via {
		t.Run(way, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			other := netip.MustParsePrefix("10.9.0.77/24")
			if err := pair.A.AddAddr(other); err != nil {
				t.Fatal(err)
			}
			good := newSender(t, pair.A, 1500, 64, 48)
			bad := newSender(t, testnet.End{NS: pair.A.NS, IP4: other.Addr()}, 1500, 32, 32)
			r := open(t, way, pair.B, pair.A.IP4, assemble.Config{PacketSize: 1500})
			defer r.close()
			bad.send(r.to, 1, 2, 3)
			good.send(r.to, 1)
			r.complete(good, 1)
			if d, err := r.src.Drops(); d.Other != uint64(3*len(bad.packets(1))) || d.All() != 0 || err != nil {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}

// An image whose end never comes is given up, though nothing else comes.
func TestSilence(t *testing.T) {
	for way := range via {
		t.Run(way, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			s := newSender(t, pair.A, 1500, 64, 48)
			r := open(t, way, pair.B, pair.A.IP4, assemble.Config{PacketSize: 1500, FrameRetention: 30 * time.Millisecond})
			defer r.close()
			s.write(r.to, s.packets(1)[:2]...)
			if m := r.next(); m.Status != assemble.TimedOut {
				t.Error(m.Status)
			}
		})
	}
}

// What is missing is asked for, once more if need be, while nothing else comes.
func TestAsks(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	s := newSender(t, pair.A, 1500, 640, 48)
	ps := s.packets(1)
	asks := 0
	resend := func(to netip.AddrPort, q gv.Resend) error {
		if asks++; asks == 1 {
			return errors.New("it gets lost")
		}
		for id := q.First; id <= q.Last; id++ {
			p := bytes.Clone(ps[id])
			p[0] = byte(gv.Resent >> 8)
			s.write(to, p)
		}
		return nil
	}
	r := openAsking(t, "xdp", pair.B, pair.A.IP4, assemble.Config{PacketSize: 1500}, resend)
	defer r.close()
	s.write(r.to, slices.Delete(slices.Clone(ps), 5, 7)...)
	r.complete(s, 1)
	if c := r.Counters(); c.ResendRequests != 4 || c.ResentPackets != 2 {
		t.Errorf("\n%v", c)
	}
	if n, err := r.Unasked(); n != 1 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}

// A consumer that stands still for a while costs whole images; those that it holds do
// not change; reception goes on.
func TestSlowConsumer(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	s := newSender(t, pair.A, 1500, 320, 240)
	r := open(t, "xdp", pair.B, pair.A.IP4, assemble.Config{PacketSize: 1500, Buffers: 4})
	defer r.close()
	next := uint64(1)
	for range 5 { // times that the consumer stands still
		var held []*assemble.Image
		for range 4 {
			s.send(r.to, next)
			held = append(held, r.next())
			next++
		}
		for range 6 { // come while it does
			s.send(r.to, next)
			next++
		}
		waitFor(t, func() bool { return r.Counters().Underruns == (next-1)/10*6 })
		for _, m := range held {
			if m.Status != assemble.Complete || !bytes.Equal(m.Data, s.image(m.ID)) {
				t.Errorf("image %d: %v, or its contents have changed", m.ID, m.Status)
			}
			r.Release(m)
		}
	}
	c := r.Counters()
	drops, err := r.src.Drops()
	if c.CompletedBuffers != 20 || c.Failures != 0 || c.Underruns != 30 || drops.All() != 0 || err != nil {
		t.Errorf("%+v, %v\n%v", drops, err, c)
	}
	waitFor(t, func() bool { return r.Counters().RefusedPackets == 30*uint64(len(s.packets(1))) })
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for giveUp := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(giveUp) {
			t.Fatal("it does not happen")
		}
	}
}

var starts = flag.Int("starts", 15, "how many times TestFirstImage opens a port")

// A camera that begins at once after the port is open: its first image is complete,
// each time.
func TestFirstImage(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	s := newSender(t, pair.A, 1500, 64, 48)
	for i := range *starts {
		var src Source
		err := pair.B.NS.Do(func() (err error) {
			if src, err = via["xdp"](t, pair.B, pair.A.IP4); err != nil {
				return err
			}
			s.send(netip.AddrPortFrom(pair.B.IP4, src.Port()), 1) // nobody receives yet
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		in, err := New(assemble.Config{PacketSize: 1500}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		r := &rig{Intake: in, t: t, src: src, stop: stop, done: make(chan error, 1)}
		go func() { r.done <- src.Receive(ctx, in) }()
		r.complete(s, 1)
		r.close()
		if t.Failed() {
			t.Fatalf("start %d", i+1)
		}
	}
}

// Several cameras on one interface: one stream by the fast lane, the others by
// sockets. Each has its own counters, and one that ends is no matter to the others.
func TestSeveralCameras(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	var senders []*sender
	var rigs []*rig
	for i, way := range []string{"xdp", "socket", "socket"} {
		at := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(101 + i)}), 24)
		if err := pair.A.AddAddr(at); err != nil {
			t.Fatal(err)
		}
		senders = append(senders, newSender(t, testnet.End{NS: pair.A.NS, IP4: at.Addr()}, 1500, 64*(i+1), 48))
		rigs = append(rigs, open(t, way, pair.B, at.Addr(), assemble.Config{PacketSize: 1500}))
	}
	for id := uint64(1); id <= 40; id++ {
		for i, s := range senders {
			if i != 1 || id <= 20 {
				s.send(rigs[i].to, id)
			}
		}
		for i, r := range rigs {
			if i != 1 || id <= 20 {
				r.complete(senders[i], id)
			}
		}
		if id == 20 {
			rigs[1].close()
		}
	}
	rigs[0].close()
	rigs[2].close()
	for i, want := range []uint64{40, 20, 40} {
		if c := rigs[i].Counters(); c.CompletedBuffers != want || c.Failures != 0 || c.ReceivedPackets != want*uint64(len(senders[i].packets(1))) {
			t.Errorf("camera %d:\n%v", i, c)
		}
	}
}

// Control traffic beside the stream stays with the kernel: a socket at the port for
// it is found by broadcast, again and again, while images flow.
func TestControlBeside(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	answer(t, pair.B)
	s := newSender(t, pair.A, 1500, 64, 48)
	r := open(t, "xdp", pair.B, pair.A.IP4, assemble.Config{PacketSize: 1500})
	defer r.close()
	answered := 0
	for id := uint64(1); id <= 20; id++ {
		s.send(r.to, id)
		var found []control.Found
		err := pair.A.NS.Do(func() (err error) {
			found, err = control.Discover(t.Context(), pair.A.IP4, 10*time.Millisecond)
			return err
		})
		r.complete(s, id)
		if err != nil || len(found) > 1 || len(found) == 1 && found[0].Model != "Beside" {
			t.Errorf("%v, %v", found, err)
		}
		answered += len(found)
	}
	if answered < 10 { // a busy machine may answer late
		t.Errorf("%d of 20 broadcasts were answered", answered)
	}
}

// answer answers discoveries at an end.
func answer(t *testing.T, end testnet.End) {
	t.Helper()
	var conn *net.UDPConn
	err := end.NS.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{Port: gv.ControlPort})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, gv.DiscoveryLen)
	gv.Identity{Model: "Beside"}.Put(body)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			if c, err := gv.ParseCommand(b[:n]); err == nil && c.Kind == gv.Discovery {
				conn.WriteToUDPAddrPort(gv.AppendAck(nil, gv.Ack{Kind: c.Kind.Ack(), ID: c.ID, Body: body}), from)
			}
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
}
