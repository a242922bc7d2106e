// SPDX-License-Identifier: MIT

package testnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// frame makes an Ethernet frame to end dst with the EtherType reserved for local
// experiments, an optional tag and a payload of n bytes.
func frame(src, dst *End, tag []byte, n int) []byte {
	f := append([]byte(nil), dst.MAC...)
	f = append(f, src.MAC...)
	f = append(f, tag...)
	f = append(f, 0x88, 0xb5)
	for i := range n {
		f = append(f, byte(i))
	}
	return f
}

func openRaw(t *testing.T, e End) *Raw {
	t.Helper()
	r, err := OpenRaw(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRawCarriesFrames(t *testing.T) {
	p := TestPair(t, Config{MTU: 9000})
	a, b := openRaw(t, p.A), openRaw(t, p.B)
	for _, tc := range []struct {
		name string
		tag  []byte
		size int
	}{
		{"empty", nil, 0},
		{"short", nil, 1},
		{"full", nil, 9000},
		{"802.1Q", []byte{0x81, 0x00, 0x60, 0x07}, 100},
		{"802.1Q full", []byte{0x81, 0x00, 0x00, 0x00}, 9000},
		{"802.1ad", []byte{0x88, 0xa8, 0x0f, 0xff}, 46},
		{"two tags", []byte{0x88, 0xa8, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02}, 46},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := frame(&p.A, &p.B, tc.tag, tc.size)
			if err := a.Send(want); err != nil {
				t.Fatal(err)
			}
			got, err := b.Receive(time.Now().Add(5 * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("sent %d bytes % x..., got %d bytes % x...", len(want), head(want), len(got), head(got))
			}
		})
	}
	// What a sent does not come back to it.
	if got, err := a.Receive(time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("sender received % x, %v", head(got), err)
	}
}

func head(b []byte) []byte { return b[:min(len(b), 20)] }

func TestRawKeepsBursts(t *testing.T) {
	const count = 1000
	p := TestPair(t, Config{})
	a, b := openRaw(t, p.A), openRaw(t, p.B)
	f := frame(&p.A, &p.B, nil, 1400)
	for i := range count {
		binary.BigEndian.PutUint32(f[14:], uint32(i))
		if err := a.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		got, err := b.Receive(time.Now().Add(5 * time.Second))
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if seq := binary.BigEndian.Uint32(got[14:]); seq != uint32(i) {
			t.Fatalf("frame %d: got %d", i, seq)
		}
	}
}

func TestRawErrors(t *testing.T) {
	p := TestPair(t, Config{})
	r := openRaw(t, p.A)
	if err := r.Send(frame(&p.A, &p.B, nil, 1600)); !errors.Is(err, unix.EMSGSIZE) {
		t.Errorf("frame over the MTU: got %v, want EMSGSIZE", err)
	}
	start := time.Now()
	if _, err := r.Receive(start.Add(20 * time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silent link: got %v, want deadline exceeded", err)
	}
	if d := time.Since(start); d < 20*time.Millisecond {
		t.Errorf("deadline came after %v, want 20ms", d)
	}
	got := make(chan error, 1)
	go func() {
		_, err := r.Receive(time.Time{})
		got <- err
	}()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed under Receive: got %v, want os.ErrClosed", err)
	}
	if _, err := OpenRaw(End{NS: p.A.NS, Name: "none", Index: 9999}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: got %v, want ENODEV", err)
	}
}

func TestRestoreTag(t *testing.T) {
	plain := append(make([]byte, 4), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x00, 0xaa)
	aux := func(status uint32, tci, tpid uint16) []byte {
		b := make([]byte, unix.CmsgSpace(auxLen))
		h := unix.Cmsghdr{Level: unix.SOL_PACKET, Type: unix.PACKET_AUXDATA}
		h.SetLen(unix.CmsgLen(auxLen))
		if _, err := binary.Encode(b, binary.NativeEndian, h); err != nil {
			t.Fatal(err)
		}
		data := b[unix.CmsgLen(0):]
		binary.NativeEndian.PutUint32(data, status)
		binary.NativeEndian.PutUint16(data[16:], tci)
		binary.NativeEndian.PutUint16(data[18:], tpid)
		return b
	}
	for _, tc := range []struct {
		name string
		oob  []byte
		want []byte
	}{
		{"no control message", nil, plain[4:]},
		{"untagged", aux(0, 0, 0), plain[4:]},
		{"tag of old kernels", aux(unix.TP_STATUS_VLAN_VALID, 0x2005, 0),
			[]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0x20, 0x05, 0x08, 0x00, 0xaa}},
		{"service tag", aux(unix.TP_STATUS_VLAN_VALID|unix.TP_STATUS_VLAN_TPID_VALID, 1, 0x88a8),
			[]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x88, 0xa8, 0x00, 0x01, 0x08, 0x00, 0xaa}},
	} {
		got, err := restoreTag(bytes.Clone(plain), tc.oob)
		if err != nil || !bytes.Equal(got, tc.want) {
			t.Errorf("%s: got % x, %v, want % x", tc.name, got, err, tc.want)
		}
	}
	if _, err := restoreTag(bytes.Clone(plain), []byte{1}); err != nil {
		t.Errorf("short control message: %v", err)
	}
}
