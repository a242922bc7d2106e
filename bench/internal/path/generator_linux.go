// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// A frameGenerator sends datagrams out of the kernel: a program numbers frames that the
// kernel makes for it (BPF_PROG_TEST_RUN with live frames, Linux 5.18) and redirects
// them to the interface. It sends more than any program of user space.
type frameGenerator struct {
	program *ebpf.Program
	counter *ebpf.Map // one value, of type numbered
	headers []byte
	size    int     // payload bytes
	rate    float64 // frames a second, by the last call
}

// numbered is what the program tells.
type numbered struct {
	Frames uint64
	Last   uint64 // when it looked at the clock last, CLOCK_MONOTONIC in nanoseconds
}

const (
	// liveFrames is BPF_F_TEST_XDP_LIVE_FRAMES.
	liveFrames = 1 << 1
	// firstCall is how many frames the first system call makes. Each call sleeps some
	// 20 ms at its end, when its pages are given back, so that there shall be few.
	firstCall   = 1 << 15
	longestCall = time.Second
	// timedEvery is after how many frames the program looks at the clock.
	timedEvery = 64
)

func openGenerator(cfg Config) (*frameGenerator, error) { return newGenerator(cfg, false) }

// newGenerator makes one that writes the headers of each frame anew, if they change on
// the way: the kernel uses the pages of frames again.
func newGenerator(cfg Config, anew bool) (*frameGenerator, error) {
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	ifi, err := net.InterfaceByName(cfg.Interface)
	if err != nil {
		return nil, fmt.Errorf("look up interface %s: %w", cfg.Interface, err)
	}
	g := &frameGenerator{size: cfg.Size, rate: firstCall / longestCall.Seconds(), headers: make([]byte, headers.Len()+cfg.Size)}
	g.headers = g.headers[:headers.Put(g.headers, g.headers[headers.Len():])]
	if g.counter, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1}); err != nil {
		return nil, fmt.Errorf("make counter of the generator: %w", err)
	}
	var headersAnew asm.Instructions
	if anew {
		headersAnew = write(g.headers)
	}
	g.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "MIT", Instructions: numberFrames(g.counter.FD(), len(g.headers), ifi.Index, headersAnew),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load program of the generator: %w", err), g.Close())
	}
	return g, nil
}

// numberFrames writes the next number to where the payload begins, as a Generator of
// package stream does, and redirects the frame to an interface. Stores are of 32 bits,
// which are aligned there, behind the two bytes that the kernel leaves before a frame.
func numberFrames(counter, payload, ifindex int, headers asm.Instructions) asm.Instructions {
	const (
		data, end    = 0, 4 // in struct xdp_md
		frames, last = 0, 8 // in numbered
	)
	begin := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, data, asm.Word),
		asm.LoadMem(asm.R3, asm.R1, end, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(payload+8)),
		asm.JGT.Reg(asm.R4, asm.R3, "short"),
	}
	return append(append(begin, headers...),
		asm.LoadMapValue(asm.R5, counter, 0),
		asm.LoadMem(asm.R6, asm.R5, frames, asm.DWord),
		asm.Mov.Reg(asm.R7, asm.R6),
		asm.Add.Imm(asm.R7, 1),
		asm.StoreMem(asm.R5, frames, asm.R7, asm.DWord),
		asm.Mov.Reg(asm.R8, asm.R6),
		asm.Mov.Reg(asm.R7, asm.R6),
		asm.RSh.Imm(asm.R7, 32),
		asm.HostTo(asm.BE, asm.R7, asm.Word),
		asm.StoreMem(asm.R2, int16(payload), asm.R7, asm.Word),
		asm.HostTo(asm.BE, asm.R6, asm.Word),
		asm.StoreMem(asm.R2, int16(payload+4), asm.R6, asm.Word),
		asm.And.Imm(asm.R8, timedEvery-1),
		asm.JNE.Imm(asm.R8, 0, "send"),
		asm.Mov.Reg(asm.R6, asm.R5), // a call leaves R6 alone
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R6, last, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, int32(ifindex)).WithSymbol("send"),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("short"), // XDP_ABORTED: cannot be
		asm.Return(),
	)
}

// Generate implements Generator.
func (g *frameGenerator) Generate(ctx context.Context, run uint32, d time.Duration) (stream.Sent, error) {
	frame := append(g.headers[:len(g.headers):len(g.headers)], make([]byte, g.size)...)
	gen := stream.NewGenerator(g.size, run)
	gen.Write(frame[len(g.headers):], 0)
	var sent stream.Sent
	for start := time.Now(); ctx.Err() == nil && time.Since(start) < d*9/10; {
		left := min(d-time.Since(start), longestCall)
		n, took, err := g.call(frame, uint32(g.rate*left.Seconds()), sent.Datagrams)
		if err != nil {
			return sent, err
		}
		sent.Datagrams += n
		sent.Elapsed += took
		g.rate = float64(n) / took.Seconds()
	}
	return sent, nil
}

// call makes one system call that makes at least n frames, numbered from first, and
// returns how many they were and how long that took: not the sleep behind it.
func (g *frameGenerator) call(frame []byte, n uint32, first uint64) (uint64, time.Duration, error) {
	st := numbered{Frames: first}
	if err := g.counter.Put(uint32(0), st); err != nil {
		return 0, 0, fmt.Errorf("set counter of the generator: %w", err)
	}
	begun, err := monotonic()
	if err != nil {
		return 0, 0, err
	}
	if _, err := g.program.Run(&ebpf.RunOptions{Data: frame, Repeat: max(n, timedEvery), Flags: liveFrames}); err != nil {
		return 0, 0, fmt.Errorf("make live frames of %d bytes (Linux 5.18 and later, and no larger than a page has room for): %w", len(frame), err)
	}
	if err := g.counter.Lookup(uint32(0), &st); err != nil {
		return 0, 0, fmt.Errorf("read counter of the generator: %w", err)
	}
	if st.Frames <= first || st.Last <= begun {
		return 0, 0, errors.New("the generator made no frames")
	}
	return st.Frames - first, time.Duration(st.Last - begun), nil
}

// monotonic reads the clock that the program reads.
func monotonic() (uint64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("read clock: %w", err)
	}
	return uint64(ts.Nano()), nil
}

// Info implements End.
func (g *frameGenerator) Info() Info { return Info{Mode: "-", Batch: 64} }

// Counters implements End: the interface has them.
func (g *frameGenerator) Counters() (loss.Counts, error) { return nil, nil }

// Close frees program and counter.
func (g *frameGenerator) Close() error {
	var errs error
	if g.program != nil {
		errs = g.program.Close()
	}
	return errors.Join(errs, g.counter.Close())
}

// openLoaded opens a receiver that frames of a generator reach: a veth takes them only
// when it has NAPI, which GRO or an XDP program switches on.
func openLoaded(cfg Config, open func(Config) (Receiver, error)) (Receiver, error) {
	veth, err := isVeth(cfg.Interface)
	if err != nil || !veth || cfg.Keep {
		if err != nil {
			return nil, err
		}
		return open(cfg)
	}
	gro, err := switchOffload(cfg.Interface, offloadGRO, true)
	if err != nil {
		return nil, err
	}
	r, err := open(cfg)
	if err != nil {
		return nil, errors.Join(err, gro.restore())
	}
	if s, ok := r.(stream.Segmenter); ok {
		return &loadedSegmenter{loadedReceiver{r, gro}, s}, nil
	}
	return &loadedReceiver{r, gro}, nil
}

// A loadedReceiver puts GRO back when it is closed.
type loadedReceiver struct {
	Receiver
	gro *offload
}

// Close closes the receiver first: it may have switched GRO as well.
func (r *loadedReceiver) Close() error {
	err := errors.Join(r.Receiver.Close(), r.gro.restore())
	r.gro = nil
	return err
}

// A loadedSegmenter is one that hands out datagrams in pieces.
type loadedSegmenter struct {
	loadedReceiver
	segments stream.Segmenter
}

// Rest implements stream.Segmenter.
func (r *loadedSegmenter) Rest(i int) [][]byte { return r.segments.Rest(i) }
