// SPDX-License-Identifier: MIT

package path

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/xdpath/xdpath/bench/internal/loss"
)

// kernelPath forwards by the kernel's own routing.
func kernelPath() Path {
	return Path{Name: "kernel", Forward: func(a, b Leg, _ Config) (End, error) {
		m := &middle{legs: [2]Leg{a, b}, mode: "-"}
		for _, leg := range m.legs { // or a veth does not take what a generator sends
			o, err := switchOffload(leg.Interface, offloadGRO, true)
			if err != nil {
				return nil, errors.Join(err, m.Close())
			}
			m.undo = append(m.undo, o.restore)
		}
		return m, nil
	}}
}

// redirectPath forwards in the XDP programs of the two interfaces, which nothing in a
// process can be faster than.
func redirectPath() Path {
	return Path{Name: "redirect", Forward: func(a, b Leg, cfg Config) (End, error) {
		m := &middle{legs: [2]Leg{a, b}, mode: "native"}
		for _, way := range [][2]Leg{{a, b}, {b, a}} {
			if err := m.redirect(way[0], way[1], cfg.Local.Port()); err != nil {
				return nil, errors.Join(err, m.Close())
			}
		}
		return m, nil
	}}
}

// A middle forwards without a process.
type middle struct {
	legs [2]Leg
	mode string
	undo []func() error
}

// redirect has what comes in by one leg for a port go out by the other.
func (m *middle) redirect(in, out Leg, port uint16) error {
	ifi, err := net.InterfaceByName(out.Interface)
	if err != nil {
		return fmt.Errorf("look up interface %s: %w", out.Interface, err)
	}
	return m.attach(in.Interface, redirected(port, out, ifi.Index))
}

// attach puts a program on an interface, natively.
func (m *middle) attach(iface string, code asm.Instructions) error {
	closer, err := attachXDP(iface, code)
	if err == nil {
		m.undo = append(m.undo, closer)
	}
	return err
}

// attachXDP does so, and returns what undoes it.
func attachXDP(iface string, code asm.Instructions) (func() error, error) {
	ifi, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, fmt.Errorf("look up interface %s: %w", iface, err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Instructions: code})
	if err != nil {
		return nil, fmt.Errorf("load program for %s: %w", iface, err)
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: ifi.Index, Flags: link.XDPDriverMode})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach program to %s: %w", iface, err), program.Close())
	}
	return func() error { return errors.Join(l.Close(), program.Close()) }, nil
}

// Places in a frame of IPv4 without options.
const (
	etherType = 12
	protocol  = 14 + 9
	dstPort   = 14 + 20 + 2
)

// forPort passes all frames to the kernel but those of UDP over IPv4 to a port that have
// at least so many bytes, with which code goes on. R2 is where the frame begins then, and
// R3 where it ends.
func forPort(port uint16, bytes int, code asm.Instructions) asm.Instructions {
	short := func(v uint16) int32 { return int32(bigEndian(v)) }
	begin := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // struct xdp_md
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(bytes)),
		asm.JGT.Reg(asm.R4, asm.R3, "pass"),
		asm.LoadMem(asm.R4, asm.R2, etherType, asm.Half),
		asm.JNE.Imm(asm.R4, short(0x0800), "pass"),
		asm.LoadMem(asm.R4, asm.R2, protocol, asm.Byte),
		asm.JNE.Imm(asm.R4, 17, "pass"),
		asm.LoadMem(asm.R4, asm.R2, dstPort, asm.Half),
		asm.JNE.Imm(asm.R4, short(port), "pass"),
	}
	pass := asm.Instructions{asm.Mov.Imm(asm.R0, 2).WithSymbol("pass"), asm.Return()} // XDP_PASS
	return append(append(begin, code...), pass...)
}

// write stores bytes at the beginning of the frame in R2, two by two: that much is
// aligned everywhere.
func write(bytes []byte) (code asm.Instructions) {
	for i := 0; i+1 < len(bytes); i += 2 {
		code = append(code, asm.StoreImm(asm.R2, int16(i), int64(binary.NativeEndian.Uint16(bytes[i:])), asm.Half))
	}
	return code
}

// redirected gives a frame the addresses of a leg's link and sends it there.
func redirected(port uint16, out Leg, ifindex int) asm.Instructions {
	code := write(append(append([]byte{}, out.PeerMAC...), out.MAC...))
	return forPort(port, ipv4Headers, append(code,
		asm.Mov.Imm(asm.R1, int32(ifindex)),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
	))
}

// Info implements End.
func (m *middle) Info() Info { return Info{Mode: m.mode, Batch: 64} }

// Counters are those of the two interfaces.
func (m *middle) Counters() (loss.Counts, error) { return legCounters(m.legs) }

// legCounters are what two interfaces dropped.
func legCounters(legs [2]Leg) (loss.Counts, error) {
	var tx, rx uint64
	for _, leg := range legs {
		l, err := netlink.LinkByName(leg.Interface)
		if err != nil {
			return nil, fmt.Errorf("read counters of %s: %w", leg.Interface, err)
		}
		if st := l.Attrs().Statistics; st != nil {
			tx += st.TxDropped
			rx += st.RxDropped
		}
	}
	return loss.Counts{{Place: loss.DeviceTX, N: tx}, {Place: loss.DeviceRX, N: rx}}, nil
}

// Close undoes all.
func (m *middle) Close() error {
	var errs error
	for _, undo := range m.undo {
		errs = errors.Join(errs, undo())
	}
	m.undo = nil
	return errs
}
