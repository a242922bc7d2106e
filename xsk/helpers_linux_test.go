// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// port is the UDP port whose packets tests redirect.
const port = 5000

// openIn opens a socket in a namespace, and closes it after the test.
func openIn(t testing.TB, ns *testnet.NS, cfg Config) *Socket {
	t.Helper()
	s, err := tryIn(ns, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		checkArea(t, s.area)
	})
	return s
}

func tryIn(ns *testnet.NS, cfg Config) (s *Socket, err error) {
	err = ns.Do(func() error {
		s, err = Open(cfg)
		return err
	})
	return s, err
}

// redirect attaches a program that redirects UDP packets for port to the sockets
// of the queues.
func redirect(t testing.TB, end testnet.End, cfg bpf.Config, queues ...*Socket) *bpf.Program {
	t.Helper()
	cfg.Ifindex = end.Index
	var p *bpf.Program
	err := end.NS.Do(func() (err error) {
		p, err = bpf.Attach(cfg)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Allow(bpf.Filter{Addr: netip.AddrPortFrom(netip.Addr{}, port)}); err != nil {
		t.Fatal(err)
	}
	for q, s := range queues {
		if err := p.SetQueue(q, s.FD()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// template makes headers from one end to another.
func template(t testing.TB, from, to testnet.End) packet.Template {
	t.Helper()
	tp, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC(from.MAC), DstMAC: packet.MAC(to.MAC),
		Src: netip.AddrPortFrom(from.IP4, port), Dst: netip.AddrPortFrom(to.IP4, port),
		Checksum: packet.Software,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

const headers = 42

// datagram makes a frame whose payload of n bytes begins with seq and goes on in
// a pattern of it.
func datagram(tp *packet.Template, seq uint64, n int) []byte {
	b := make([]byte, headers+n)
	fillPayload(b[headers:], seq)
	tp.Put(b, b[headers:])
	return b
}

func fillPayload(b []byte, seq uint64) {
	for i := range b {
		b[i] = byte(seq*31) + byte(i)
	}
	if len(b) >= 8 {
		binary.BigEndian.PutUint64(b, seq)
	}
}

// checkPayload returns the sequence number of a frame made by datagram.
func checkPayload(t testing.TB, b []byte) uint64 {
	t.Helper()
	u, reason := packet.Parse(b)
	if reason != 0 {
		t.Fatalf("frame of %d bytes: %v", len(b), reason)
	}
	p := u.Payload(b)
	if len(p) < 8 {
		t.Fatalf("payload of %d bytes", len(p))
	}
	seq := binary.BigEndian.Uint64(p)
	want := make([]byte, len(p))
	fillPayload(want, seq)
	if string(p) != string(want) {
		t.Fatalf("payload of datagram %d is damaged", seq)
	}
	return seq
}

// collect receives n datagrams, checks them and gives their frames back; the
// result is their sequence numbers in order of arrival.
func collect(t testing.TB, s *Socket, n int) []uint64 {
	t.Helper()
	ctx := within(t, 5*time.Second)
	frames := make([]umem.Frame, 64)
	var seqs []uint64
	for len(seqs) < n {
		k, err := s.ReceiveContext(ctx, frames)
		if err != nil {
			st, _ := s.Stats()
			t.Fatalf("after %d of %d: %v (%+v)", len(seqs), n, err, st)
		}
		for _, f := range frames[:k] {
			b, err := s.Area().Bytes(f)
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, checkPayload(t, b))
		}
		if err := s.Release(frames[:k]); err != nil {
			t.Fatal(err)
		}
	}
	return seqs
}

// send sends packets in batches, waiting for frames, and flushes each.
func send(t testing.TB, s *Socket, batch int, packets ...[]byte) {
	t.Helper()
	ctx := within(t, 5*time.Second)
	frames := make([]umem.Frame, batch)
	for len(packets) > 0 {
		n, err := s.ReserveContext(ctx, frames[:min(batch, len(packets))])
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			frames[i] = write(t, s, frames[i], packets[i])
		}
		sendFrames(t, s, frames[:n])
		packets = packets[n:]
	}
}

// sendFrames sends reserved frames, whatever the ring takes at once.
func sendFrames(t testing.TB, s *Socket, frames []umem.Frame) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); len(frames) > 0; {
		n, err := s.Send(frames)
		if err != nil {
			t.Fatal(err)
		}
		frames = frames[n:]
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d frames do not get into the ring", len(frames))
		}
	}
}

func write(t testing.TB, s *Socket, f umem.Frame, packet []byte) umem.Frame {
	t.Helper()
	b, err := s.Area().Bytes(f)
	if err != nil {
		t.Fatal(err)
	}
	return f.WithLen(copy(b[:cap(b)], packet))
}
