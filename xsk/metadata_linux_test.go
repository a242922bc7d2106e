// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// Case 92: a checksum that metadata ask for is right on the wire.
func TestChecksumOffload(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{TxMetadata: TxMetadataSize, SoftwareChecksum: true, Headroom: 128}, bpf.Config{})
	tp, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC(l.pair.A.MAC), DstMAC: packet.MAC(l.pair.B.MAC),
		Src: netip.AddrPortFrom(l.pair.A.IP4, port), Dst: netip.AddrPortFrom(l.pair.B.IP4, port), Checksum: packet.Offload,
	})
	if err != nil {
		t.Fatal(err)
	}
	frames := make([]umem.Frame, 64)
	n, err := l.tx.Reserve(frames)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames[:n] {
		frames[i] = write(t, l.tx, frames[i], datagram(&tp, uint64(i), 8+i*23))
		if frames[i], err = PutTxMetadata(l.tx.Area(), frames[i], TxMetadata{
			Checksum: true, ChecksumStart: uint16(tp.ChecksumStart()), ChecksumOffset: packet.ChecksumOffset,
		}); err != nil {
			t.Fatal(err)
		}
	}
	sendFrames(t, l.tx, frames[:n])
	for got := 0; got < n; {
		k, err := l.rx.ReceiveContext(within(t, time.Second), frames)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames[:k] {
			b, _ := l.rx.Area().Bytes(f)
			u, reason := packet.Parse(b)
			if reason != packet.OK || u.Verify(b) != packet.Good {
				t.Errorf("datagram %d: %v, checksum %v", got, reason, u.Verify(b))
			}
			got++
		}
		l.rx.Release(frames[:k])
	}
	// Frames without metadata go on as ever.
	send(t, l.tx, 8, l.packets(0, 8, 64)...)
	wantSeqs(t, collect(t, l.rx, 8), 0)
	if st, _ := l.tx.Stats(); st.TxInvalid != 0 {
		t.Errorf("%+v", st)
	}
}

func TestMetadataRefused(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{TxMetadata: TxMetadataSize, Headroom: 128}, bpf.Config{})
	frames := make([]umem.Frame, 1)
	l.tx.Reserve(frames)
	f := write(t, l.tx, frames[0], datagram(&l.tp, 1, 64))
	area := l.tx.Area()
	for name, bad := range map[string]umem.Frame{
		"no room":       f.At(16, 64),
		"not on 8":      f.At(100, 64),
		"chunk's start": f.At(0, 64),
	} {
		if _, err := PutTxMetadata(area, bad, TxMetadata{}); !errors.Is(err, ErrMetadata) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := l.tx.Send([]umem.Frame{f.At(16, 64).WithMetadata(true)}); n != 0 || !errors.Is(err, ErrMetadata) {
		t.Errorf("sent without room for metadata: %d %v", n, err)
	}
	if n, err := l.rx.Send([]umem.Frame{f.WithMetadata(true)}); n != 0 || err == nil {
		t.Errorf("sent in an area without metadata: %d %v", n, err)
	}
	l.tx.Release(frames)
	// Case 21: lengths that the kernel refuses are refused before it.
	for n, ok := range map[int]bool{0: true, 8: true, 16: true, 24: true, 248: true, 4: false, 255: false, 256: false, -8: false} {
		a, err := umem.New(umem.Config{Chunks: 16, TxMetadata: n})
		if (err == nil) != ok {
			t.Errorf("%d bytes of metadata: %v", n, err)
		}
		if err == nil {
			a.Close()
		}
	}
}

// In an area with metadata, frames without them are sent as well: reserved ones
// have the room that the kernel asks for before each, and others are refused
// instead of lost.
func TestMetadataRoom(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{TxMetadata: TxMetadataSize, MultiBuffer: true}, bpf.Config{})
	send(t, l.tx, 8, l.packets(0, 8, 64)...)
	wantSeqs(t, collect(t, l.rx, 8), 0)
	frames := make([]umem.Frame, 2)
	if n, err := l.tx.Reserve(frames); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if f := frames[0]; f.Offset() != TxMetadataSize {
		t.Errorf("begins at %d", f.Offset())
	}
	for name, bad := range map[string][]umem.Frame{
		"single":       {frames[0].At(16, 64)},
		"continuation": {frames[0].WithLen(64).WithMore(true), frames[1].At(0, 64)},
	} {
		if n, err := l.tx.Send(bad); n != 0 || !errors.Is(err, ErrMetadata) {
			t.Errorf("%s: sent %d, %v", name, n, err)
		}
	}
	if err := l.tx.Release(frames); err != nil {
		t.Error(err)
	}
	if st, _ := l.tx.Stats(); st.TxInvalid != 0 {
		t.Errorf("%+v", st)
	}
}

// Metadata that the kernel would refuse for ever, with all frames behind them in
// the ring, are refused before: where they are written, and where a frame was
// changed since.
func TestMetadataUnfollowable(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{}, Config{TxMetadata: TxMetadataSize, SoftwareChecksum: true, Headroom: 128}, bpf.Config{})
	area, frames := l.tx.Area(), make([]umem.Frame, 1)
	l.tx.Reserve(frames)
	f := write(t, l.tx, frames[0], datagram(&l.tp, 1, 64))
	put := func(start, offset uint16) (umem.Frame, error) {
		return PutTxMetadata(area, f, TxMetadata{Checksum: true, ChecksumStart: start, ChecksumOffset: offset})
	}
	for _, c := range []struct {
		start, offset int
		ok            bool
	}{{34, 6, true}, {f.Len() - 2, 0, true}, {f.Len() - 2, 1, false}, {600, 6, false}, {65535, 65535, false}} {
		if _, err := put(uint16(c.start), uint16(c.offset)); c.ok != (err == nil) || err != nil && !errors.Is(err, ErrMetadata) {
			t.Errorf("%+v in %d bytes: %v", c, f.Len(), err)
		}
	}
	g, err := put(uint16(f.Len()-2), 0)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(f umem.Frame, why string) {
		t.Helper()
		if n, err := l.tx.Send([]umem.Frame{f}); n != 0 || !errors.Is(err, ErrMetadata) {
			t.Errorf("%s: sent %d, %v", why, n, err)
		}
	}
	refused(g.WithLen(f.Len()-1), "shortened")
	if g, err = PutTxMetadata(area, f, TxMetadata{Launch: time.Second}); err != nil {
		t.Fatal(err)
	}
	l.tx.launchTime = false // as before Linux 6.15
	refused(g, "launch time")
	b, err := area.Bytes(g.At(g.Offset()-TxMetadataSize, TxMetadataSize))
	if err != nil {
		t.Fatal(err)
	}
	binary.NativeEndian.PutUint64(b, 1<<40)
	refused(g, "unknown flag")
	l.tx.Release(frames)
	// The ring goes on.
	send(t, l.tx, 8, l.packets(0, 8, 64)...)
	wantSeqs(t, collect(t, l.rx, 8), 0)
}

func TestKernelIs(t *testing.T) {
	if !kernelIs(5, 0) || !kernelIs(4, 99) || kernelIs(1000, 0) {
		t.Error("versions are compared wrongly")
	}
}
