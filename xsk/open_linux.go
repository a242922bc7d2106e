// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/internal/wait"
	"github.com/xdpath/xdpath/umem"
	"golang.org/x/sys/unix"
)

// Open opens an AF_XDP socket on a queue of an interface, in the caller's
// network namespace. When it returns, the fill ring is filled and the socket is
// bound: nothing that is redirected to it from then on is lost for want of it.
//
// With Config.Mode Best, zero-copy is tried first and copy next, each with a
// fresh socket; Info has what came of it. A queue whose last socket was closed a
// moment ago is waited for, and likewise memory that still counts as locked
// (Config.BusyWait): busy is not unsupported.
//
// Errors name step, interface, queue and what to do. ErrNoInterface (ENODEV),
// ErrLinkDown (ENETDOWN), ErrQueueBusy (EBUSY), EPERM without CAP_NET_RAW,
// ENOBUFS over the locked-memory limit, EOPNOTSUPP for zero-copy on a driver
// without it. Nothing is left behind.
func Open(cfg Config) (*Socket, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	link, err := lookup(cfg)
	if err != nil {
		return nil, err
	}
	s := &Socket{cfg: cfg, opened: time.Now()}
	s.info = Info{
		Interface: link.Name, Index: link.Index, Queue: cfg.Queue, MultiBuffer: cfg.MultiBuffer, TxBudget: defaultTxBudget,
		RxSize: cfg.RxSize, TxSize: cfg.TxSize, FillSize: cfg.FillSize, CompletionSize: cfg.CompletionSize,
	}
	s.SetMTU(link.MTU)
	s.rxWait.Mode = wait.Mode(cfg.Wait)
	s.rxWait.Pacer = wait.Pacer{MaxSpin: cfg.Spin, Room: int(cfg.RxSize)}
	if err := s.openMemory(); err != nil {
		return nil, err
	}
	if err := s.openBest(); err != nil {
		s.closeMemory()
		return nil, err
	}
	return s, nil
}

// lookup finds the interface and tells why it cannot be used.
func lookup(cfg Config) (*net.Interface, error) {
	var link *net.Interface
	var err error
	if cfg.Interface != "" {
		link, err = net.InterfaceByName(cfg.Interface)
	} else {
		link, err = net.InterfaceByIndex(cfg.Index)
	}
	name := cfg.Interface
	if name == "" {
		name = fmt.Sprintf("index %d", cfg.Index)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("xsk: look up interface %s: %w", name, explainLookup(err))
	case cfg.Index != 0 && link.Index != cfg.Index:
		return nil, fmt.Errorf("xsk: look up interface %s: it has index %d, not %d: %w: %w", name, link.Index, cfg.Index, ErrNoInterface, unix.ENODEV)
	case link.Flags&net.FlagLoopback != 0 && cfg.Direction != ReceiveOnly:
		return nil, fmt.Errorf("xsk: interface %s: what AF_XDP sends on a loopback interface from an address of this host is dropped without a trace, since it has no route: use an ordinary socket, or Direction ReceiveOnly: %w", link.Name, unix.EOPNOTSUPP)
	case link.Flags&net.FlagUp == 0:
		return nil, fmt.Errorf("xsk: interface %s: %w; set it up (ip link set %s up): %w", link.Name, ErrLinkDown, link.Name, unix.ENETDOWN)
	}
	return link, nil
}

// explainLookup tells an interface that is not there from a kernel that was not
// asked: package net has an errno in its error only then.
func explainLookup(err error) error {
	var errno unix.Errno
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return fmt.Errorf("netlink is refused, by a sandbox perhaps (allow AF_NETLINK): %w", err)
	case errors.As(err, &errno):
		return err
	}
	return fmt.Errorf("%w in this network namespace: %w (%v)", ErrNoInterface, unix.ENODEV, err)
}

// openMemory makes the area and the pools that the configuration leaves to us.
func (s *Socket) openMemory() (err error) {
	c := &s.cfg
	s.area = c.Area
	if c.Share != nil {
		s.area = c.Share.area
	}
	if s.area == nil {
		s.area, err = umem.New(umem.Config{
			ChunkSize: c.ChunkSize, Headroom: c.Headroom, Chunks: c.RxFrames + c.TxFrames,
			TxMetadata: c.TxMetadata, SoftwareChecksum: c.SoftwareChecksum,
		})
		if err != nil {
			return fmt.Errorf("xsk: memory for %s queue %d: %w", s.info.Interface, c.Queue, err)
		}
		s.own = true
		s.area.CloseWithLast()
	}
	s.info.Locked = s.area.Info().Bytes
	s.metadata, s.launchTime = s.area.Info().TxMetadata, kernelIs(6, 15)
	if s.txPool = c.TxPool; s.txPool == nil && c.TxFrames > 0 && c.Direction != ReceiveOnly {
		if s.txPool, err = s.area.NewPool(c.TxFrames); err != nil {
			s.closeMemory()
			return s.errorf("frames for sending on", err)
		}
		s.made = true
	}
	return nil
}

// openBest goes through the modes that the policy allows until one binds.
func (s *Socket) openBest() error {
	modes := []Mode{ZeroCopy, Copy}
	if s.cfg.Mode != Best {
		modes = []Mode{s.cfg.Mode}
	}
	var errs []error
	for _, mode := range modes {
		err := s.openPatiently(mode)
		s.info.Attempts = append(s.info.Attempts, Attempt{mode, err})
		if err == nil {
			s.info.Attempts[len(s.info.Attempts)-1].Mode = s.info.Mode
			return nil
		}
		errs = append(errs, err)
		if !errors.As(err, new(refusal)) {
			break
		}
	}
	return errors.Join(errs...)
}

// openPatiently opens in one mode, waiting for a queue or for locked memory that
// are still being given up by a socket that was closed.
func (s *Socket) openPatiently(mode Mode) error {
	const pause = 5 * time.Millisecond
	for end := time.Now().Add(s.cfg.BusyWait); ; time.Sleep(pause) {
		err := s.openOnce(mode)
		if err == nil || !s.passing(err) || time.Now().After(end) {
			return err
		}
	}
}

// passing tells whether an error may pass by itself. The kernel gives up a
// queue, and stops to count an area as locked, some time after the socket was
// closed, from a work queue (xp_put_pool, net/xdp/xsk_buff_pool.c): that of a
// first attempt in zero-copy mode too.
func (s *Socket) passing(err error) bool {
	return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOBUFS) && uint64(s.info.Locked) <= lockLimit()
}

// openOnce makes a fresh socket and everything on it, in one mode.
func (s *Socket) openOnce(mode Mode) error {
	return s.area.Attach(func(mem []byte, members []umem.Member) (umem.Member, error) {
		o := &opening{s: s, mode: mode, shared: -1, sys: system{fd: -1, asker: -1}}
		err := o.inherit(members)
		if err == nil {
			err = o.open(mem)
		}
		if err != nil {
			o.undo()
			return umem.Member{}, err
		}
		if s.own {
			o.pair.closePool = func() error { return nil } // goes with the area, see closeMemory
		}
		s.rings, s.os = o.pair, &o.sys
		s.rx, s.tx = o.rx, o.tx
		return umem.Member{FD: o.sys.fd, ZeroCopy: s.info.Mode == ZeroCopy, MultiBuffer: s.info.MultiBuffer}, nil
	})
}

// opening is one attempt, with what undoes it.
type opening struct {
	s      *Socket
	mode   Mode
	shared int // a socket whose registration of the area to share; -1: ours will be new
	sys    system
	pair   *pair
	rx     *ring.Consumer[desc]
	tx     *ring.Producer[desc]
}
