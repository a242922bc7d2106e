// SPDX-License-Identifier: MIT

package bpf

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// openSocket opens an AF_XDP socket on queue 0 of the end, for as long as the test.
func openSocket(t *testing.T, end *testnet.End, cfg xsk.Config) *xsk.Socket {
	t.Helper()
	cfg.Interface = end.Name
	var s *xsk.Socket
	err := end.NS.Do(func() (err error) {
		s, err = xsk.Open(cfg)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openProgram attaches to the end and hands queue 0 to the socket.
func openProgram(t *testing.T, end *testnet.End, cfg Config, s *xsk.Socket, take ...Filter) *Program {
	t.Helper()
	cfg.Ifindex = end.Index
	var p *Program
	err := end.NS.Do(func() (err error) {
		p, err = Attach(cfg)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.SetQueue(0, s.FD()); err != nil {
		t.Fatal(err)
	}
	forEach(t, take, p.Allow)
	return p
}

// taken is the first buffer of a packet that a socket got, with the memory in front.
type taken struct {
	room, data []byte
	buffers    int
}

// take waits for n packets.
func take(t *testing.T, s *xsk.Socket, n int) (list []taken) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	frames := make([]umem.Frame, 32)
	for len(list) < n {
		got, err := s.ReceiveContext(ctx, frames)
		if err != nil {
			t.Fatalf("packet %d of %d: %v", len(list), n, err)
		}
		begins := true
		for _, f := range frames[:got] {
			if begins {
				list = append(list, copyOf(t, s.Area(), f))
			}
			list[len(list)-1].buffers++
			begins = !f.More()
		}
		if err := s.Release(frames[:got]); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) != n {
		t.Fatalf("%d packets, want %d", len(list), n)
	}
	return list
}

// copyOf reads a frame and what is in front of it, as a user of metadata does.
func copyOf(t *testing.T, area *umem.Area, f umem.Frame) taken {
	t.Helper()
	f, err := area.Shift(f, -MetadataSize)
	if err != nil {
		t.Fatal(err)
	}
	b, err := area.Bytes(f)
	if err != nil {
		t.Fatal(err)
	}
	b = append([]byte(nil), b...)
	return taken{room: b[:MetadataSize], data: b[MetadataSize:]}
}

// metadata reads what a program wrote in front of the packet. There must
// be a block.
func (x taken) metadata(t *testing.T, p *Program) Metadata {
	t.Helper()
	m, ok := p.Metadata(x.room)
	if !ok {
		t.Errorf("no metadata in front: %x, stamp %#x", x.room, p.stamp.Load())
	}
	return m
}

// pushTag makes the kernel of the end put a VLAN tag beside each frame it sends, as
// a VLAN interface does: on a veth it stays beside the frame.
func pushTag(t *testing.T, end *testnet.End, tci int32) (remove func()) {
	t.Helper()
	proto := int32(binary.NativeEndian.Uint16([]byte{0x81, 0x00}))
	var l link.Link
	err := end.NS.Do(func() error {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "MIT", Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R2, proto), asm.Mov.Imm(asm.R3, tci), asm.FnSkbVlanPush.Call(),
			asm.Mov.Imm(asm.R0, 0), asm.Return(), // TCX_PASS
		}})
		if err != nil {
			return err
		}
		l, err = link.AttachTCX(link.TCXOptions{Interface: end.Index, Program: p, Attach: ebpf.AttachTCXEgress})
		return errors.Join(err, p.Close())
	})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("the kernel has no TCX links, which push the tag here (Linux 6.6): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	remove = func() { _ = l.Close() }
	t.Cleanup(remove)
	return remove
}

// sendBare makes the end send a frame that never was a packet of the kernel's, as a
// redirect from another device does. Its driver knows nothing of it.
func sendBare(t *testing.T, end *testnet.End, frame []byte) {
	t.Helper()
	const liveFrames, tx = 1 << 1, 3 // BPF_F_TEST_XDP_LIVE_FRAMES, XDP_TX
	err := end.NS.Do(func() error {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R0, tx), asm.Return(),
		}})
		if err != nil {
			return err
		}
		_, err = p.Run(&ebpf.RunOptions{Data: frame, Flags: liveFrames, Repeat: 1, Context: queueContext(len(frame), end.Index, 0)})
		return errors.Join(err, p.Close())
	})
	if errors.Is(err, unix.EINVAL) && kernelBefore(5, 18) {
		t.Skipf("the kernel sends no test frames (Linux 5.18): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
