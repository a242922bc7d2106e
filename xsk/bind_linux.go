// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/xdpath/xdpath/umem"
	"golang.org/x/sys/unix"
)

// open does the steps of one attempt, in the order that the kernel wants.
func (o *opening) open(mem []byte) error {
	for _, step := range []func() error{
		o.socket,
		func() error { return o.register(mem) },
		o.makeRings,
		o.mapRings,
		o.options,
		o.fill,
		o.bind,
		o.readBack,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// undo takes back what an attempt that failed has done.
func (o *opening) undo() {
	last := false
	if o.pair != nil {
		last, _ = o.pair.leave(o.sys.fd)
	}
	if o.sys.fd >= 0 {
		o.sys.close()
	}
	if last {
		o.pair.end()
	}
}

// inherit finds a socket on the area to share its registration with. How that one
// is bound, ours will be: the kernel takes no flags with a shared UMEM (xsk_bind,
// net/xdp/xsk.c).
func (o *opening) inherit(members []umem.Member) error {
	for _, m := range members {
		// ENXIO: its device is gone, and nothing can be shared with it. In
		// zero-copy mode it may be the driver that says so, and nothing tells.
		if _, _, err := unix.Recvfrom(m.FD, nil, unix.MSG_DONTWAIT); errors.Is(err, unix.ENXIO) && !m.ZeroCopy {
			continue
		}
		has, want := Copy, o.s.cfg.Mode
		if m.ZeroCopy {
			has = ZeroCopy
		}
		if want != Best && want != has {
			return o.errorf("open", fmt.Errorf("sockets that share an area have the mode of its first, %v: %w", has, unix.EOPNOTSUPP))
		}
		if o.s.cfg.MultiBuffer && !m.MultiBuffer {
			return o.errorf("open", fmt.Errorf("sockets that share an area are multi-buffer if its first is, and it is not: %w", unix.EOPNOTSUPP))
		}
		o.shared, o.mode, o.s.info.MultiBuffer = m.FD, has, m.MultiBuffer
		return nil
	}
	o.s.info.MultiBuffer = o.s.cfg.MultiBuffer
	return nil
}

func (o *opening) errorf(step string, err error) error {
	return o.s.errorf(fmt.Sprintf("%s (%v)", step, o.mode), err)
}

func (o *opening) socket() (err error) {
	o.sys.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		err = fmt.Errorf("CAP_NET_RAW is missing: run as root or grant it: %w", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		err = fmt.Errorf("no AF_XDP here: the kernel lacks CONFIG_XDP_SOCKETS or a sandbox forbids the address family: %w", err)
	}
	if err != nil {
		o.sys.fd = -1
		return o.errorf("socket for", err)
	}
	return nil
}

// register makes the area known to the kernel, once for all its sockets.
func (o *opening) register(mem []byte) error {
	if o.shared >= 0 {
		return nil
	}
	err := registerMemory(o.sys.fd, mem, o.s.area.Info())
	switch {
	case errors.Is(err, unix.ENOBUFS):
		err = lockedError(len(mem), err)
	case errors.Is(err, unix.EINVAL) && o.s.area.Info().TxMetadata > 0:
		err = fmt.Errorf("metadata for sending need Linux 6.8: %w", err)
	case errors.Is(err, unix.EFAULT) || errors.Is(err, unix.EOPNOTSUPP):
		err = fmt.Errorf("the memory cannot be pinned (a file mapping, or not mapped writable): %w", err)
	}
	if err != nil {
		return o.errorf("register the memory for", err)
	}
	return nil
}

// lockedError says what ENOBUFS means here: xdp_umem_account_pages
// (net/xdp/xdp_umem.c) charges the memory to the user's locked pages.
func lockedError(bytes int, err error) error {
	return fmt.Errorf("locking %d bytes exceeds the locked-memory limit, %d bytes for all of this user's (raise it with ulimit -l or LimitMEMLOCK=, grant CAP_IPC_LOCK, or use fewer frames): %w",
		bytes, lockLimit(), err)
}

// lockLimit is how many bytes the user may lock, or no limit if it cannot be told.
func lockLimit() uint64 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim) != nil {
		return math.MaxUint64
	}
	return lim.Cur
}

// fill gives the kernel its chunks, before the first packet can come.
func (o *opening) fill() error {
	o.pair.refill()
	return nil
}

// bind binds the socket. XDP_USE_NEED_WAKEUP is always asked for; a socket that
// shares a UMEM takes mode and flags from the first one.
func (o *opening) bind() error {
	sa := &unix.SockaddrXDP{Ifindex: uint32(o.s.info.Index), QueueID: uint32(o.s.info.Queue)}
	if o.shared >= 0 {
		sa.Flags, sa.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(o.shared)
		if o.sharesQueue() {
			sa.SharedUmemFD = uint32(o.s.cfg.Share.os.poller())
		}
	} else {
		sa.Flags = unix.XDP_USE_NEED_WAKEUP | unix.XDP_COPY
		if o.mode == ZeroCopy {
			sa.Flags = unix.XDP_USE_NEED_WAKEUP | unix.XDP_ZEROCOPY
		}
		if o.s.cfg.MultiBuffer {
			sa.Flags |= unix.XDP_USE_SG
		}
	}
	if err := unix.Bind(o.sys.fd, sa); err != nil {
		err = o.errorf("bind", o.explainBind(os.NewSyscallError("bind", err)))
		if o.mode == ZeroCopy && o.shared < 0 && !hopeless(err) {
			err = refusal{err}
		}
		return err
	}
	return nil
}

// refusal is a bind in zero-copy mode that was refused for what that mode asks,
// which leaves hope for copy.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// hopeless tells whether bind failed for what has nothing to do with the mode.
func hopeless(err error) bool {
	for _, other := range []error{errQueueNumber, unix.EBUSY, unix.EPERM, unix.EACCES, unix.ENODEV, unix.ENXIO, unix.ENETDOWN} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
}

// errQueueNumber is a queue that does not exist, whatever the mode.
var errQueueNumber = errors.New("no such queue")

// explainBind adds what the errno of bind means (xsk_bind and xp_assign_dev in
// net/xdp).
func (o *opening) explainBind(err error) error {
	info := &o.s.info
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w; close it, or choose another queue: %w", ErrQueueBusy, err)
	case errors.Is(err, unix.EINVAL):
		if n := queueCount(info.Interface); n > 0 && info.Queue >= n {
			return fmt.Errorf("%w: %d of %d (they count from 0; ethtool -L changes their number): %w", errQueueNumber, info.Queue, n, err)
		}
		if o.s.cfg.MultiBuffer && o.shared < 0 {
			return fmt.Errorf("multi-buffer needs Linux 6.6; or the queue does not exist: %w", err)
		}
		if o.shared >= 0 {
			return fmt.Errorf("the queue does not exist, or it has the fill ring of a socket on this area: name that in Share: %w", err)
		}
		return fmt.Errorf("the queue does not exist, or the mode is not supported: %w", err)
	case errors.Is(err, unix.EOPNOTSUPP) && o.mode == ZeroCopy:
		return fmt.Errorf("driver %s has no zero-copy for this configuration; use copy: %w", orUnknown(driver(info.Interface)), err)
	case errors.Is(err, unix.EBADF) && o.shared >= 0:
		return fmt.Errorf("the socket on this area whose memory was to be shared has lost its interface; close it first: %w", err)
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: %w", ErrNoInterface, err)
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("%w; set it up (ip link set %s up): %w", ErrLinkDown, info.Interface, err)
	}
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}
