// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"syscall"
)

// outcome is what an errno of a TX wakeup means for the frames in the ring.
//
//	errno     from                                            outcome
//	none      the ring was drained, or the driver was told    done
//	EAGAIN    budget used up; no memory; completion ring full again
//	ENOBUFS   no memory for a buffer                          again
//	EINTR     a signal                                        again
//	EBUSY     copy mode: the device refused a packet that     lost, if the consumer index moved
//	          is consumed and completed                       again, if not
//	          zero-copy: the driver is being set up anew      again
//	ENETDOWN  interface administratively down                 down: the frames stay queued
//	ENXIO     socket not bound any more: device gone          gone
//	          zero-copy, and the interface is still there:    failed
//	          the driver wants an XDP program attached (ice,
//	          i40e, ixgbe, mlx5), or is being set up anew
//	ENODEV    likewise, from drivers                          gone
//	others    EINVAL: igb in zero-copy mode wants an XDP      failed
//	          program attached; EOPNOTSUPP, EPERM, …
//
// Sources: __xsk_sendmsg, __xsk_generic_xmit and xsk_wakeup in net/xdp/xsk.c;
// __dev_direct_xmit in net/core/dev.c.
type outcome int

const (
	done outcome = iota
	again
	lost
	down
	gone
	failed
)

// classify turns the error of a TX wakeup into its meaning. Moved tells whether
// the kernel's consumer index moved during it. Of a socket in zero-copy mode
// the driver takes frames as it goes, so that this says nothing.
func (s *Socket) classify(err error, moved bool) outcome {
	if err == nil {
		return done
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return failed
	}
	switch errno {
	case syscall.EAGAIN, syscall.ENOBUFS, syscall.EINTR:
		return again
	case syscall.EBUSY:
		if moved && s.info.Mode != ZeroCopy {
			return lost
		}
		return again
	case syscall.ENETDOWN:
		return down
	case syscall.ENXIO, syscall.ENODEV:
		if s.info.Mode == ZeroCopy && s.os.present() {
			return failed
		}
		return gone
	}
	return failed
}

// explain puts what an outcome means for the caller before the error.
func explain(o outcome, err error) error {
	switch o {
	case lost:
		return fmt.Errorf("%w: %w", ErrLost, err)
	case down:
		return fmt.Errorf("%w: %w", ErrLinkDown, err)
	case gone:
		return fmt.Errorf("%w: %w", ErrNoInterface, err)
	case failed:
		if errors.Is(err, syscall.ENXIO) {
			return fmt.Errorf("the driver takes nothing yet (attach an XDP program first): %w", err)
		}
	}
	return err
}
