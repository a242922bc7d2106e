// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

const (
	port     = 6000
	headers  = 42
	patience = 10 * time.Second
)

// rig is a forwarder at work, on memory that the test can look into.
type rig struct {
	*forwarder
	area *umem.Area
	mem  []byte
	stop func() // ends it and checks what it left; once
}

// start runs a forwarder on the given ends, which are of one namespace.
func start(t *testing.T, ends ...testnet.End) *rig {
	t.Helper()
	r := &rig{}
	var err error
	r.mem, err = unix.Mmap(-1, 0, len(ends)*poolSize*2048, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(r.mem) })
	if r.area, err = umem.New(umem.Config{ChunkSize: 2048, Memory: r.mem}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range ends {
		names = append(names, e.Name)
	}
	err = ends[0].NS.Do(func() error {
		r.forwarder, err = newForwarder(r.area, names, 0, port)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx, io.Discard) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		r.checkEnd(t)
	}
	t.Cleanup(r.stop)
	return r
}

// checkEnd closes the forwarder and asserts that every chunk is back on its list.
func (r *rig) checkEnd(t *testing.T) {
	t.Helper()
	if s := r.area.Snapshot(); s.Sum() != s.Total || s.Out() != 0 {
		t.Errorf("frames are in hand after run: %v", s)
	}
	if err := r.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if s := r.area.Snapshot(); s.Free != s.Total {
		t.Errorf("not all chunks are free after close: %v", s)
	}
	if err := errors.Join(r.area.Check(), r.area.Close()); err != nil {
		t.Error(err)
	}
}

// datagram is one from an end to another, whose payload of n bytes begins with seq.
func datagram(from, to testnet.End, seq, n int) []byte {
	tp, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC(from.MAC), DstMAC: packet.MAC(to.MAC),
		Src: netip.AddrPortFrom(from.IP4, port), Dst: netip.AddrPortFrom(to.IP4, port),
	})
	if err != nil {
		panic(err) // of the addresses of a test network
	}
	b := make([]byte, headers+n)
	for i := range b {
		b[i] = byte(seq*31 + i)
	}
	binary.BigEndian.PutUint64(b[headers:], uint64(seq))
	tp.Put(b, b[headers:])
	return b
}

// swapped is what the forwarder must make of a frame.
func swapped(b []byte) []byte {
	return bytes.Join([][]byte{b[6:12], b[:6], b[12:]}, nil)
}

// raw opens a packet socket at an end.
func raw(t *testing.T, end testnet.End) *testnet.Raw {
	t.Helper()
	r, err := testnet.OpenRaw(end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// exchange sends frames at one end and tells whether each, in order, comes out at
// the other with its addresses swapped and nothing else changed.
func exchange(from, to *testnet.Raw, frames ...[]byte) error {
	for _, b := range frames {
		if err := from.Send(b); err != nil {
			return err
		}
	}
	for i, b := range frames {
		got, err := receive(to)
		if err != nil {
			return fmt.Errorf("frame %d of %d: %w", i, len(frames), err)
		}
		if !bytes.Equal(got, swapped(b)) {
			return fmt.Errorf("frame %d of %d:\ngot  %x\nwant %x", i, len(frames), got, swapped(b))
		}
	}
	return nil
}

// receive is the next UDP frame.
func receive(r *testnet.Raw) ([]byte, error) {
	deadline := time.Now().Add(patience)
	for {
		b, err := r.Receive(deadline)
		if err != nil {
			return nil, err
		}
		if _, reason := packet.Parse(b); reason == packet.OK {
			return b, nil
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
