// SPDX-License-Identifier: MIT

package xsk

import (
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
