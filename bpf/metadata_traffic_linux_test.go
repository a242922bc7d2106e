// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// few chunks, so that each is soon used again.
func few() xsk.Config {
	return xsk.Config{RxSize: 64, FillSize: 64, RxFrames: 64, TxFrames: 64}
}

// What veth knows depends on where a frame comes from: the sending kernel's hash for
// what it sent, nothing for a frame that was no packet of a kernel's. It stamps none.
func TestMetadataHash(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	mine, raw := mineOn(t, pair)
	to := netip.AddrPortFrom(pair.B.IP4, mine.Port)
	s := openSocket(t, &pair.B, few())
	p := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: to})
	frame := mine.UDP4([]byte("a frame of the test's own")).Bytes()
	flow, other := dial(t, &pair.A, to), dial(t, &pair.A, to)
	for _, c := range []struct {
		name string
		send func()
		want Fields
	}{
		{"packet socket", func() { sendAll(t, raw, [][]byte{frame, frame}) }, HasHash},
		{"UDP socket", func() { send(t, flow, 2) }, HasHash},
		{"no packet", func() { sendBare(t, &pair.A, frame); sendBare(t, &pair.A, frame) }, 0},
	} {
		c.send()
		list := take(t, s, 2)
		first, second := list[0].metadata(t, p), list[1].metadata(t, p)
		if first.Fields != c.want || first != second {
			t.Errorf("%s: %+v, %+v; want %v, and the same twice", c.name, first, second, c.want)
		}
		if c.want&HasHash != 0 && (first.Hash == 0 || first.HashType != HashL4) {
			t.Errorf("%s: hash %#x of type %#x", c.name, first.Hash, first.HashType)
		}
	}
	send(t, flow, 1)
	send(t, other, 1)
	list := take(t, s, 2)
	if a, b := list[0].metadata(t, p), list[1].metadata(t, p); a.Hash == b.Hash {
		t.Errorf("two flows have the same hash: %+v, %+v", a, b)
	}
}

// The tag is told when it came beside the frame, and only then. A frame whose tag
// is told looks untagged to the filter.
func TestMetadataVLAN(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	mine, raw := mineOn(t, pair)
	at := netip.AddrPortFrom(pair.B.IP4, mine.Port)
	s := openSocket(t, &pair.B, few())
	p := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: at}, Filter{Addr: at, VLAN: 7})
	plain := mine.UDP4([]byte("payload"))
	tagged := plain.With(func(f *frames.Frame) { f.Tags = []frames.Tag{{Type: 0x8100, TCI: 7}} })
	const tci = 5<<13 | 9 // priority 5, id 9
	for _, c := range []struct {
		name   string
		frame  []byte
		beside bool
		want   Metadata
	}{
		{"untagged", plain.Bytes(), false, Metadata{}},
		{"tag in the frame", tagged.Bytes(), false, Metadata{}},
		{"tag beside the frame", plain.Bytes(), true, Metadata{Fields: HasVLAN, VLANProto: 0x8100, VLANTCI: tci}},
		{"untagged again", plain.Bytes(), false, Metadata{}},
	} {
		remove := func() {}
		if c.beside {
			remove = pushTag(t, &pair.A, tci)
		}
		sendAll(t, raw, [][]byte{c.frame})
		got := take(t, s, 1)[0]
		remove()
		m := got.metadata(t, p)
		m.Fields, m.Hash, m.HashType = m.Fields&^HasHash, 0, 0
		if m != c.want || !bytes.Equal(got.data, c.frame) {
			t.Errorf("%s: %+v, want %+v\n%x", c.name, m, c.want, got.data)
		}
	}
}

// On a kernel that lacks one of the functions the others go on working.
func TestMetadataOlderKernel(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	mine, raw := mineOn(t, pair)
	to := netip.AddrPortFrom(mine.IP4, mine.Port)
	s := openSocket(t, &pair.B, few())
	var p *Program
	err := pair.B.NS.Do(func() error {
		all, err := kernelCalls(kernelBTF)
		if err != nil {
			return err
		}
		p, err = attachWith(&pair.B, all.only(HasTimestamp|HasHash))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if err := errors.Join(p.SetQueue(0, s.FD()), p.Allow(Filter{Addr: to})); err != nil {
		t.Fatal(err)
	}
	pushTag(t, &pair.A, 9)
	sendAll(t, raw, [][]byte{mine.UDP4([]byte("payload")).Bytes()})
	if m := take(t, s, 1)[0].metadata(t, p); m.Fields != HasHash || p.Info().Metadata != HasTimestamp|HasHash {
		t.Errorf("%+v, info %v", m, p.Info().Metadata)
	}
}

// attachWith attaches as if driver and kernel had these functions only.
func attachWith(end *testnet.End, functions calls) (*Program, error) {
	cfg := Config{Ifindex: end.Index, Metadata: MetadataRequire}.withDefaults()
	d, err := openDevice(cfg)
	if err != nil {
		return nil, err
	}
	l, err := load(cfg)
	if err != nil {
		return nil, err
	}
	defer l.closePrograms()
	if err := errors.Join(l.loadBound(cfg, d, functions), l.maps.setMAC(d.mac)); err != nil {
		return nil, err
	}
	c := climber{device: d, maps: &l.maps, useLink: true}
	tie, err := c.climb(rungs(cfg, l))
	if err != nil {
		return nil, err
	}
	c.info.Queues = cfg.Queues
	p := &Program{maps: l.maps, tie: tie, info: c.info}
	p.stamp.Store(uint64(c.stamp))
	return p, nil
}

// Each frame has its own flow's hash in front, though chunks are used many times
// over and flows alternate.
func TestMetadataBelongsToFrame(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	to := netip.AddrPortFrom(pair.B.IP4, 5000)
	s := openSocket(t, &pair.B, few())
	p := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: to})
	const flows, rounds = 8, 200
	hashes := map[uint16]uint32{} // by source port
	for range rounds / flows {
		for range flows {
			send(t, dial(t, &pair.A, to), 1)
		}
		list := take(t, s, flows)
		for _, x := range list {
			hashes[binary.BigEndian.Uint16(x.data[34:])] = x.metadata(t, p).Hash
		}
	}
	if len(hashes) < rounds*9/10 {
		t.Fatalf("only %d flows", len(hashes))
	}
	different := map[uint32]bool{}
	for _, h := range hashes {
		different[h] = true
	}
	if len(different) != len(hashes) {
		t.Errorf("%d hashes for %d flows: some are another frame's", len(different), len(hashes))
	}
}

// Old blocks are in front of frames that a plain program hands over to the same
// chunks: no Program takes them, not even the one that wrote them, once closed.
func TestMetadataOldBytes(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	to := netip.AddrPortFrom(pair.B.IP4, 5000)
	s := openSocket(t, &pair.B, few())
	c := dial(t, &pair.A, to)
	const n = 64 // all chunks
	with := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: to})
	send(t, c, n)
	for _, x := range take(t, s, n) {
		x.metadata(t, with)
	}
	mark := stamp(with.stamp.Load())
	if err := with.Close(); err != nil {
		t.Fatal(err)
	}
	plain := openProgram(t, &pair.B, Config{}, s, Filter{Addr: to})
	send(t, c, n)
	eventually(t, "plain frames in the ring", func() bool { return counters(t, plain).Redirected == n })
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	again := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: to})
	old := 0
	for _, x := range take(t, s, n) {
		if _, ok := parseMetadata(x.room, mark); ok {
			old++
		}
		for name, p := range map[string]*Program{"closed": with, "plain": plain, "again": again} {
			if m, ok := p.Metadata(x.room); ok {
				t.Errorf("%s: took %+v from an earlier frame", name, m)
			}
		}
	}
	if old == 0 {
		t.Error("no old block was in front of any frame: the test proves nothing")
	}
	t.Logf("%d of %d frames had an old block in front", old, n)
	send(t, c, n)
	for _, x := range take(t, s, n) {
		x.metadata(t, again)
	}
}

// A packet of several buffers has its metadata in front of the first one.
func TestMetadataJumbo(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{MTU: 9000})
	mine, raw := mineOn(t, pair)
	cfg := few()
	cfg.MultiBuffer = true
	s := openSocket(t, &pair.B, cfg)
	p := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: netip.AddrPortFrom(mine.IP4, mine.Port)})
	for _, size := range []int{100, 4000, 8972} {
		frame := mine.UDP4(bytes.Repeat([]byte{0x5a}, size)).Bytes()
		for range 20 {
			sendAll(t, raw, [][]byte{frame})
			x := take(t, s, 1)[0]
			if m := x.metadata(t, p); m.Fields != HasHash || !bytes.HasPrefix(frame, x.data) || (x.buffers > 1) != (size > 2000) {
				t.Fatalf("%d bytes: %+v, %d buffers", size, m, x.buffers)
			}
		}
	}
}

// What the program with metadata leaves to the kernel arrives there as it was.
func TestMetadataPassesUnchanged(t *testing.T) {
	pair, p := attachTo(t, Config{Metadata: MetadataRequire}, testnet.Config{IPv6: true}, 1)
	for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
		if err := p.Allow(Filter{Addr: netip.AddrPortFrom(ip, 5000)}); err != nil {
			t.Fatal(err)
		}
		kernel := listen(t, &pair.B, netip.AddrPortFrom(ip, 5001))
		send(t, dial(t, &pair.A, netip.AddrPortFrom(ip, 5001)), 10)
		eventually(t, fmt.Sprintf("UDP to another port of %v", ip), func() bool { return kernel.got.Load() == 10 })
		if err := tcpEcho(pair, netip.AddrPortFrom(ip, 5000)); err != nil {
			t.Error(err)
		}
		send(t, dial(t, &pair.A, netip.AddrPortFrom(ip, 5000)), 10)
	}
	eventually(t, "own port redirected", func() bool { return counters(t, p).Redirected == 20 })
	if c := counters(t, p); c.NoRoom != 0 || c.Malformed != 0 {
		t.Errorf("%+v", c)
	}
}

// A frame sent by an AF_XDP socket has metadata too, whatever its hash is worth: the
// sending kernel does not look where the headers are.
func TestMetadataFromXDPSocket(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	mine, _ := mineOn(t, pair)
	s := openSocket(t, &pair.B, few())
	p := openProgram(t, &pair.B, Config{Metadata: MetadataRequire}, s, Filter{Addr: netip.AddrPortFrom(mine.IP4, mine.Port)})
	from := openSocket(t, &pair.A, few())
	frame := mine.UDP4([]byte("payload")).Bytes()
	f := make([]umem.Frame, 1)
	if n, err := from.Reserve(f); n != 1 || err != nil {
		t.Fatalf("reserved %d, %v", n, err)
	}
	f[0] = f[0].WithLen(len(frame))
	b, err := from.Area().Bytes(f[0])
	if err != nil {
		t.Fatal(err)
	}
	copy(b, frame)
	if _, err := from.Send(f); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Flush(); err != nil {
		t.Fatal(err)
	}
	x := take(t, s, 1)[0]
	if m := x.metadata(t, p); m.Fields&(HasTimestamp|HasVLAN) != 0 || !bytes.Equal(x.data, frame) {
		t.Errorf("%+v\n%x", m, x.data)
	}
}
