// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// A forwarder carries frames between two AF_XDP sockets on one area of memory: a frame
// is sent where it was received, with other addresses.
type forwarder struct {
	area     *umem.Area
	legs     [2]Leg
	sockets  [2]*xsk.Socket
	programs [2]*bpf.Program
	mode     string
	stop     context.CancelFunc
	loops    sync.WaitGroup

	mu     sync.Mutex
	full   uint64 // frames for which the other TX ring had no room
	failed error  // what ended a loop
}

// forwardRing is the number of entries of each ring, and forwardChunks that of chunks
// to receive into: as many as can wait in the rings of both sides, and some more.
const (
	forwardRing   = 2048
	forwardChunks = 3 * forwardRing
)

// openForwarder opens the sockets and starts a loop for each direction.
func openForwarder(a, b Leg, cfg Config) (End, error) {
	f := &forwarder{legs: [2]Leg{a, b}}
	chunk := 2048
	for chunk < os.Getpagesize() && chunk-256 < ipv4Headers+cfg.Size {
		chunk *= 2
	}
	var err error
	if f.area, err = umem.New(umem.Config{ChunkSize: chunk, Chunks: 2 * forwardChunks}); err != nil {
		return nil, err
	}
	for i := range f.legs {
		if err := f.open(i, cfg.Local.Port()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	f.mode = f.programs[0].Info().Mode.String() + " " + copyMode(f.sockets[0].Info().Mode == xsk.ZeroCopy)
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	for i := range f.legs {
		f.loops.Go(func() { f.run(ctx, i, cfg.Processor) })
	}
	return f, nil
}

// open opens one side. All that is sent was received by the other one.
func (f *forwarder) open(i int, port uint16) error {
	pool, err := f.area.NewPool(forwardChunks)
	if err != nil {
		return err
	}
	s, err := xsk.Open(xsk.Config{
		Interface: f.legs[i].Interface, RxSize: forwardRing, TxSize: forwardRing, Area: f.area, RxPool: pool, TxPool: pool,
	})
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	f.sockets[i] = s
	if f.programs[i], err = bpf.Attach(bpf.Config{Interface: f.legs[i].Interface, Queues: 1}); err != nil {
		return err
	}
	return errors.Join(f.programs[i].SetQueue(0, s.FD()), f.programs[i].Allow(bpf.Filter{Addr: netip.AddrPortFrom(netip.Addr{}, port)}))
}

// run forwards what comes in by one leg, on one processor.
func (f *forwarder) run(ctx context.Context, in, processor int) {
	runtime.LockOSThread() // which ends with the thread: it is not unlocked
	err := cpu.PinThread(processor)
	frames := make([]umem.Frame, 64)
	for err == nil {
		var n int
		if n, err = f.sockets[in].ReceiveContext(ctx, frames); err == nil {
			err = f.forward(in, 1-in, frames[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
	}
	if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		f.mu.Lock()
		f.failed = errors.Join(f.failed, err)
		f.mu.Unlock()
	}
}

// forward sends frames by the other leg. Those for which there is no room are dropped,
// as a switch does.
func (f *forwarder) forward(in, out int, frames []umem.Frame) error {
	leg := f.legs[out]
	for _, frame := range frames {
		b, err := f.area.Bytes(frame)
		if err != nil {
			return errors.Join(err, f.sockets[in].Release(frames))
		}
		copy(b, leg.PeerMAC)
		copy(b[6:], leg.MAC)
	}
	n, err := f.sockets[out].Send(frames)
	if err == nil && n < len(frames) {
		if _, err = f.flush(out); err == nil {
			var more int
			more, err = f.sockets[out].Send(frames[n:])
			n += more
		}
	}
	if left := frames[n:]; len(left) > 0 {
		f.mu.Lock()
		f.full += uint64(len(left))
		f.mu.Unlock()
		err = errors.Join(err, f.sockets[in].Release(left))
	}
	if err != nil {
		return err
	}
	// What the kernel leaves in the ring goes with the next frames, or in a moment.
	left, err := f.flush(out)
	var deadline time.Time
	if left > 0 {
		deadline = time.Now().Add(time.Millisecond)
	}
	f.sockets[in].SetReceiveDeadline(deadline)
	return err
}

func (f *forwarder) flush(out int) (int, error) {
	left, err := f.sockets[out].Flush()
	if errors.Is(err, xsk.ErrLost) {
		err = nil // it is counted
	}
	return left, err
}

// Info implements End.
func (f *forwarder) Info() Info { return Info{Mode: f.mode, Batch: 64} }

// Counters are those of sockets and interfaces, and an error if a loop has ended.
func (f *forwarder) Counters() (loss.Counts, error) {
	f.mu.Lock()
	full, err := f.full, f.failed
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	sum := loss.Counts{{Place: loss.Forward, N: full}}
	for _, s := range f.sockets {
		st, err := s.Stats()
		if err != nil {
			return nil, err
		}
		sum = sum.Plus(loss.Counts{
			{Place: loss.Send, N: st.TxLost}, {Place: loss.TXInvalid, N: st.TxInvalid}, {Place: loss.RXRing, N: st.RxRingFull},
			{Place: loss.FillRing, N: st.RxFillEmpty}, {Place: loss.RXDropped, N: st.RxTooBig()},
		})
	}
	devices, err := legCounters(f.legs)
	return sum.Plus(devices), err
}

// Close takes the programs off, ends the loops, and closes the sockets and the memory.
func (f *forwarder) Close() error {
	var errs error
	for _, p := range f.programs {
		if p != nil {
			errs = errors.Join(errs, p.Close())
		}
	}
	if f.stop != nil {
		f.stop()
		f.loops.Wait()
	}
	for _, s := range f.sockets {
		if s != nil {
			errs = errors.Join(errs, s.Close())
		}
	}
	return errors.Join(errs, f.area.Close())
}
