// SPDX-License-Identifier: MIT

//go:build linux && !386

package path

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/asavie/xdp"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/internal/packet"
)

// asavieFrame is the chunk size, and asavieMost the largest frame that the
// kernel puts into one: it keeps 256 bytes of headroom.
const (
	asavieFrame = 4096
	asavieMost  = asavieFrame - 256
)

// asaviePath is AF_XDP by github.com/asavie/xdp, used as its examples do: fill
// what is free, poll, receive; get free descriptors, transmit, poll. It brings
// its own XDP program, which takes all frames of the queue.
func asaviePath() Path {
	return Path{
		Name: "asavie", TakesAll: true,
		Sender: func(cfg Config) (Sender, error) {
			return openAsavieSender(cfg)
		},
		Receiver: func(cfg Config) (Receiver, error) {
			return openAsavieReceiver(cfg, xdp.SocketOptions{
				NumFrames: cfg.Hold, RxRingNumDescs: cfg.Hold, FillRingNumDescs: cfg.Hold,
				CompletionRingNumDescs: asavieIdle, TxRingNumDescs: 0,
			})
		},
		Peer: func(cfg Config) (Peer, error) {
			return openAsaviePeer(cfg)
		},
	}
}

// An asavie is what both sides have in common.
type asavie struct {
	xsk  *xdp.Socket
	info Info
}

// openAsavie opens a socket with the ring sizes in opt.
func openAsavie(cfg Config, ifindex int, opt xdp.SocketOptions) (*asavie, error) {
	if most := asavieMost - ipv4Headers; cfg.Size > most {
		return nil, fmt.Errorf("asavie has no multi-buffer: %d bytes of payload do not fit into a frame, %d do", cfg.Size, most)
	}
	opt.FrameSize = asavieFrame
	xsk, err := newAsavieSocket(ifindex, cfg.Queue, opt)
	if err != nil {
		return nil, fmt.Errorf("open asavie socket on %s queue %d: %w", cfg.Interface, cfg.Queue, err)
	}
	// The library never unmaps the rings: only the end of the process frees the
	// queue for the next socket.
	a := &asavie{xsk: xsk, info: Info{Batch: cfg.Batch, OneShot: true}}
	flags, err := unix.GetsockoptInt(xsk.FD(), unix.SOL_XDP, unix.XDP_OPTIONS)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read mode of asavie socket: %w", err), a.Close())
	}
	a.info.Mode = copyMode(flags&unix.XDP_OPTIONS_ZEROCOPY != 0)
	return a, nil
}

// asavieBusy bounds the wait for a queue whose last owner has just gone.
const (
	asavieBusy  = time.Second
	asavieAgain = 5 * time.Millisecond
)

// newAsavieSocket waits while the queue is busy: the kernel takes a pool down
// some time after its last socket was closed. The library passes the error on
// as text only.
func newAsavieSocket(ifindex, queue int, opt xdp.SocketOptions) (*xdp.Socket, error) {
	tick := time.NewTicker(asavieAgain)
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		xsk, err := xdp.NewSocket(ifindex, queue, &opt)
		if err == nil || !strings.Contains(err.Error(), unix.EBUSY.Error()) || time.Since(begun) > asavieBusy {
			return xsk, err
		}
	}
}

func (a *asavie) Info() Info { return a.info }

// Counters reads the statistics of the socket.
func (a *asavie) Counters() (loss.Counts, error) {
	st, err := a.xsk.Stats()
	if err != nil {
		return nil, fmt.Errorf("read statistics of asavie socket: %w", err)
	}
	k := st.KernelStats
	return loss.Counts{
		{Place: loss.TXInvalid, N: k.Tx_invalid_descs},
		{Place: loss.RXRing, N: k.Rx_ring_full},
		{Place: loss.FillRing, N: k.Rx_fill_ring_empty_descs},
		// The kernel counts a frame for which there was no chunk here too.
		{Place: loss.RXDropped, N: k.Rx_dropped - min(k.Rx_dropped, k.Rx_fill_ring_empty_descs)},
	}, nil
}

// Close closes the socket.
func (a *asavie) Close() error {
	if err := a.xsk.Close(); err != nil {
		return fmt.Errorf("close asavie socket: %w", err)
	}
	return nil
}

// An asavieSender is the sending side.
type asavieSender struct {
	*asavie
	headers packet.Template
	length  int        // of a frame
	descs   []xdp.Desc // those of the last Reserve, the library's slice
}

func openAsavieSender(cfg Config) (*asavieSender, error) {
	ifi, err := net.InterfaceByName(cfg.Interface)
	if err != nil {
		return nil, fmt.Errorf("look up interface %s: %w", cfg.Interface, err)
	}
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	a, err := openAsavie(cfg, ifi.Index, xdp.SocketOptions{
		NumFrames: cfg.Hold, TxRingNumDescs: cfg.Hold, CompletionRingNumDescs: cfg.Hold,
		FillRingNumDescs: asavieIdle, RxRingNumDescs: asavieIdle, // its Stats needs one
	})
	if err != nil {
		return nil, err
	}
	return &asavieSender{asavie: a, headers: headers, length: headers.Len() + cfg.Size}, nil
}

// asavieIdle is the size of a ring that is not used but must be there.
const asavieIdle = 64

func (s *asavieSender) Reserve(bufs [][]byte) (int, error) {
	s.descs = s.xsk.GetDescs(min(len(bufs), s.xsk.NumFreeTxSlots()))
	if len(s.descs) == 0 {
		return 0, s.poll()
	}
	for i := range s.descs {
		s.descs[i].Len = uint32(s.length)
		bufs[i] = s.xsk.GetFrame(s.descs[i])[s.headers.Len():]
	}
	return len(s.descs), nil
}

func (s *asavieSender) Send(n int) (int, error) {
	for _, d := range s.descs[:n] {
		frame := s.xsk.GetFrame(d)
		s.headers.Put(frame, frame[s.headers.Len():])
	}
	// Reserve asked for no more than the ring takes.
	taken := s.xsk.Transmit(s.descs[:n])
	if taken < n {
		return taken, fmt.Errorf("asavie socket took %d of %d frames", taken, n)
	}
	return n, s.poll()
}

// poll waits for room in the TX ring and takes completed frames back, which
// also sends what one call could not.
func (s *asavieSender) poll() error {
	if _, _, err := s.xsk.Poll(int(receiveWait.Milliseconds())); err != nil {
		return fmt.Errorf("poll asavie socket: %w", err)
	}
	return nil
}

// Flush implements stream.Sender.
func (s *asavieSender) Flush() (int, error) {
	for begun := time.Now(); s.xsk.NumTransmitted() > 0 && time.Since(begun) < sendWait; {
		s.xsk.Transmit(nil) // wakes the kernel
		if err := s.poll(); err != nil {
			return s.xsk.NumTransmitted(), err
		}
	}
	return s.xsk.NumTransmitted(), nil
}
