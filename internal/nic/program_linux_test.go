// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

const passName = "nic_test_pass"

// loadPass loads a program of two instructions that passes everything.
func loadPass(t *testing.T) *ebpf.Program {
	t.Helper()
	const xdpPass = 2
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: passName, Type: ebpf.XDP, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	must(t, err)
	t.Cleanup(func() { _ = prog.Close() })
	return prog
}

func programID(t *testing.T, prog *ebpf.Program) uint32 {
	t.Helper()
	info, err := prog.Info()
	must(t, err)
	id, ok := info.ID()
	if !ok {
		t.Fatal("kernel tells no program id")
	}
	return uint32(id)
}

// attachLink attaches a pass program by a BPF link.
func attachLink(t *testing.T, e *testnet.End, flags link.XDPAttachFlags) (link.Link, uint32) {
	t.Helper()
	prog := loadPass(t)
	var l link.Link
	must(t, e.NS.Do(func() (err error) {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: e.Index, Flags: flags})
		return err
	}))
	t.Cleanup(func() { _ = l.Close() })
	return l, programID(t, prog)
}

// setProgram attaches by netlink, as old tools do; a nil program detaches.
func setProgram(t *testing.T, e *testnet.End, prog *ebpf.Program, flags int) error {
	t.Helper()
	return e.NS.Do(func() error {
		fd := -1
		if prog != nil {
			fd = prog.FD()
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Index = e.Index
		return netlink.LinkSetXdpFdWithFlags(&netlink.Device{LinkAttrs: attrs}, fd, flags)
	})
}

func TestPrograms(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	check := func(step string, want ...Program) {
		t.Helper()
		got := facts(t, n).Programs
		if len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
			t.Errorf("%s: got %+v, want %+v", step, got, want)
		}
	}
	check("at first")
	l, id := attachLink(t, &p.B, link.XDPDriverMode)
	check("native by link", Program{ID: id, Mode: ModeNative, Name: passName})
	must(t, l.Close())
	check("link closed")
	l, id = attachLink(t, &p.B, link.XDPGenericMode)
	check("generic by link", Program{ID: id, Mode: ModeGeneric, Name: passName})
	must(t, l.Close())
	prog := loadPass(t)
	for flags, mode := range map[int]string{unix.XDP_FLAGS_DRV_MODE: ModeNative, unix.XDP_FLAGS_SKB_MODE: ModeGeneric} {
		must(t, setProgram(t, &p.B, prog, flags))
		check(mode+" by netlink", Program{ID: programID(t, prog), Mode: mode, Name: passName})
		must(t, setProgram(t, &p.B, nil, flags))
		check(mode + " detached by netlink")
	}
}

// Case 95: an attached or detached program is noticed within two seconds, although
// the kernel does not announce those of BPF links.
func TestProgramEvents(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	n := openEnd(t, &p.B)
	w := watch(t, n)
	expect := func(step string, want ...uint32) {
		t.Helper()
		start := time.Now()
		e := next(t, w)
		if e.Kind != ProgramChanged || len(e.Link.Programs) != len(want) || len(want) == 1 && e.Link.Programs[0].ID != want[0] {
			t.Fatalf("%s: got %v with %+v, want ids %v", step, e.Kind, e.Link.Programs, want)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: noticed after %v", step, d)
		}
	}
	l, id := attachLink(t, &p.B, 0)
	expect("attached", id)
	other := loadPass(t)
	must(t, l.Update(other))
	expect("replaced", programID(t, other))
	// By force, while the owner still holds the link: what a stranger can do.
	must(t, detachLink(l))
	expect("detached by somebody else")
	must(t, setProgram(t, &p.B, other, unix.XDP_FLAGS_SKB_MODE))
	expect("attached by netlink", programID(t, other))
	must(t, setProgram(t, &p.B, nil, unix.XDP_FLAGS_SKB_MODE))
	expect("detached by netlink")
}

func detachLink(l link.Link) error {
	d, ok := l.(interface{ Detach() error })
	if !ok {
		return errors.New("link cannot be detached")
	}
	return d.Detach()
}
