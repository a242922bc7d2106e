// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// The kernel runs no program on test frames that calls into a driver
// (bpf_prog_test_run_xdp refuses device-bound ones). So the same instructions are
// loaded with something else in place of these calls.

// tell puts functions in place of the calls into the driver, which say everything.
func tell(code asm.Instructions) asm.Instructions {
	for i := range code {
		for _, k := range kfuncs {
			if code[i].IsBuiltinCall() && code[i].Constant == k.placeholder {
				call := asm.Call.Label(k.name)
				code[i].Src, code[i].Constant = call.Src, call.Constant
				code[i] = code[i].WithReference(k.name)
			}
		}
	}
	proto := int64(unix.ETH_P_8021Q)
	if sameOrder(binary.LittleEndian) {
		proto = proto>>8 | proto&0xff<<8
	}
	done := asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
	function := func(i int, body ...asm.Instruction) {
		body[0] = body[0].WithSymbol(kfuncs[i].name)
		code = append(append(code, body...), done...)
	}
	function(0, asm.LoadImm(asm.R1, int64(everything.Timestamp), asm.DWord), asm.StoreMem(asm.R2, 0, asm.R1, asm.DWord))
	function(1, asm.StoreImm(asm.R2, 0, int64(everything.Hash), asm.Word), asm.StoreImm(asm.R3, 0, int64(everything.HashType), asm.Word))
	function(2, asm.StoreImm(asm.R2, 0, proto, asm.Half), asm.StoreImm(asm.R3, 0, int64(everything.VLANTCI), asm.Half))
	return code
}

// What a driver says comes out of the kernel's own run as the reader reads it.
func TestMetadataTold(t *testing.T) {
	b := openBench(t)
	spec, err := metaObject().open()
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Programs[metaName]
	s.Instructions = tell(s.Instructions)
	if err := b.maps.bind(s); err != nil {
		t.Fatal(err)
	}
	p, err := ebpf.NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	frame := target.UDP4([]byte("payload")).Bytes()
	run := ebpf.RunOptions{Data: frame, DataOut: make([]byte, 256)}
	verdict, err := p.Run(&run)
	if err != nil || verdict != xdpRedirect || len(run.DataOut) != MetadataSize+len(frame) {
		t.Fatalf("verdict %d, %v, %x", verdict, err, run.DataOut)
	}
	if m, ok := b.Metadata(run.DataOut[:MetadataSize]); !ok || m != everything {
		t.Errorf("%+v, %v; want %+v", m, ok, everything)
	}
	if !bytes.Equal(run.DataOut[MetadataSize:], frame) {
		t.Errorf("the frame became %x", run.DataOut[MetadataSize:])
	}
}

// A frame that comes with metadata of the driver's own in front goes to the kernel,
// and so does one whose headroom is used up.
func TestMetadataNoRoom(t *testing.T) {
	b := openBench(t)
	frame := target.UDP4([]byte("payload")).Bytes()
	for i, own := range []int{4, 32, 216} {
		run := ebpf.RunOptions{
			Data: append(make([]byte, own), frame...), Repeat: 1,
			Context: xdpContext{Data: uint32(own), End: uint32(own + len(frame))},
		}
		verdict, err := b.meta.Run(&run)
		if own > 32 && errors.Is(err, unix.EINVAL) {
			continue // more than older kernels take
		}
		if err != nil {
			t.Fatalf("%d bytes in front: %v", own, err)
		}
		c, err := b.Counters()
		if err != nil {
			t.Fatal(err)
		}
		if verdict != xdpPass || c.NoRoom != uint64(i+1) || c.Redirected != 0 {
			t.Errorf("%d bytes in front: verdict %d, %+v", own, verdict, c)
		}
	}
}

// Bound programs are refused where the documentation says so. If a kernel comes to
// allow either, the tests above should use it.
func TestMetadataBoundLimits(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataRequire})
		if err != nil {
			return err
		}
		program, err := ebpf.NewProgramFromID(ebpf.ProgramID(p.Info().ProgramID))
		if err != nil {
			return err
		}
		_, runErr := program.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
		if !errors.Is(runErr, unix.EINVAL) {
			t.Errorf("test run: %v", runErr)
		}
		if err := p.Close(); err != nil {
			return err
		}
		d, err := openDevice(Config{Ifindex: pair.B.Index})
		if err != nil {
			return err
		}
		defer d.close()
		if err := d.setProgram(program.FD(), -1, netlinkFlags(Generic)); !errors.Is(err, unix.EINVAL) {
			t.Errorf("generic mode: %v", err)
		}
		return errors.Join(program.Close(), nothingOn(&pair.B))
	})
}
