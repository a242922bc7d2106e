// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// passProgram is somebody else's program.
func passProgram(t *testing.T) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "somebody_else", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// foreign attaches a pass program in one of the three ways, and gives its id and a
// function that takes it off.
func foreign(t *testing.T, end *testnet.End, way string) (id uint32, off func()) {
	t.Helper()
	p := passProgram(t)
	id, err := programID(p)
	if err != nil {
		t.Fatal(err)
	}
	if way == "link" {
		l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: end.Index, Flags: link.XDPDriverMode})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return id, func() { _ = l.Close() }
	}
	d, err := openDevice(Config{Ifindex: end.Index})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	mode := Native
	if way == "generic" {
		mode = Generic
	}
	if err := d.setProgram(p.FD(), -1, netlinkFlags(mode)); err != nil {
		t.Fatal(err)
	}
	return id, func() { _ = d.setProgram(-1, -1, netlinkFlags(mode)) }
}

// Case 14: a foreign program in each of the three forms, against each of our modes.
func TestForeignProgram(t *testing.T) {
	testnet.Leaks(t)
	for _, c := range []struct{ way, mode, command string }{
		{"native", "native", "ip link set dev %s xdpdrv off"},
		{"generic", "generic", "ip link set dev %s xdpgeneric off"},
		{"link", "native", "bpftool link detach id"},
	} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			id, off := foreign(t, &pair.B, c.way)
			for _, mode := range []Mode{Best, Native, Generic} {
				for _, useLink := range []bool{true, false} {
					_, err := openIn(Config{Interface: pair.B.Name, Mode: mode}, useLink)
					var e *ForeignProgramError
					if !errors.As(err, &e) || !errors.Is(err, ErrForeignProgram) || !errors.Is(err, unix.EBUSY) {
						return fmt.Errorf("%s, our %v: %w", c.way, mode, err)
					}
					if e.ID != id || e.Name != "somebody_else" || e.Mode != c.mode || (e.LinkID != 0) != (c.way == "link") {
						t.Errorf("%s: %+v", c.way, e)
					}
					command := strings.ReplaceAll(c.command, "%s", pair.B.Name)
					checkRefusal(t, err, ErrForeignProgram, fmt.Sprint(id), "somebody_else", c.mode, command, pair.B.Name)
				}
			}
			list, err := programsOn(&pair.B)
			if err != nil || len(list) != 1 || list[0].id != id {
				t.Errorf("%s: the foreign program did not stay: %v, %v", c.way, list, err)
			}
			off()
			p, err := Attach(Config{Interface: pair.B.Name})
			if err != nil {
				return err
			}
			return p.Close()
		})
	}
}

// The second of two of our own is refused just so, and the first is not disturbed.
func TestSecondAttachIsRefused(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name})
		if err != nil {
			return err
		}
		_, err = Attach(Config{Interface: pair.B.Name})
		checkRefusal(t, err, ErrForeignProgram, "(xdpath)")
		if on, err := p.Attached(); !on || err != nil {
			t.Errorf("the first: %v, %v", on, err)
		}
		return p.Close()
	})
}

// Replace displaces what hangs on netlink, and says so of what hangs on a link.
func TestReplace(t *testing.T) {
	testnet.Leaks(t)
	for _, way := range []string{"native", "generic", "link"} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			id, _ := foreign(t, &pair.B, way)
			p, err := Attach(Config{Interface: pair.B.Name, Replace: true})
			if way == "link" {
				checkRefusal(t, err, ErrForeignProgram, fmt.Sprint(id), "cannot be replaced", "bpftool link detach id")
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			list, err := programsOn(&pair.B)
			if err != nil || len(list) != 1 || list[0].id != p.Info().ProgramID {
				t.Errorf("%s: on the interface: %v, %v", way, list, err)
			}
			return p.Close()
		})
	}
}

// If ours cannot be attached after all, the replaced program is put back.
func TestReplaceUndone(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{MTU: 9000}, func(pair *testnet.Pair) error {
		id, _ := foreign(t, &pair.B, "generic")
		_, err := Attach(Config{Interface: pair.B.Name, Mode: Native, NoFrags: true, Replace: true})
		checkRefusal(t, err, unix.ERANGE)
		list, err := programsOn(&pair.B)
		if err != nil || len(list) != 1 || list[0] != (found{id, "generic"}) {
			t.Errorf("on the interface: %v, %v", list, err)
		}
		return nil
	})
}

// Close takes off its own program only, also where no link says whose it is.
func TestCloseSparesForeign(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := openIn(Config{Interface: pair.B.Name, Mode: Native}, false)
		if err != nil {
			return err
		}
		id, _ := foreign(t, &pair.B, "native") // displaces ours, as "ip -force" does
		if on, err := p.Attached(); on || err != nil {
			t.Errorf("attached: %v, %v", on, err)
		}
		if err := p.Close(); err != nil {
			return err
		}
		list, err := programsOn(&pair.B)
		if err != nil || len(list) != 1 || list[0].id != id {
			t.Errorf("on the interface: %v, %v", list, err)
		}
		return nil
	})
}
