// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// Close flushes what is in the TX ring, waits for the frames in transmission
// (for Config.Linger at the most), ends every blocked call with net.ErrClosed,
// and gives up rings, descriptor and, if it made one, the area; one that other
// sockets share goes with the last of them. Take the socket out of the queue map,
// or detach the program, first.
//
// Frames that the caller still holds stay valid, and their memory mapped, until
// they are released; the error, which satisfies errors.Is(err,
// umem.ErrFramesOut), says how many of those of the socket's own pools. Frames that were not read
// from the RX ring are lost and return to their pool.
//
// Closing again returns net.ErrClosed.
func (s *Socket) Close() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed.Load() {
		return s.errClosed("close")
	}
	s.linger()

	s.rxMu.Lock()
	s.txMu.Lock()
	s.last, _ = s.os.statistics()
	s.closed.Store(true)
	s.txMu.Unlock()
	s.rxMu.Unlock()
	s.rxWait.Close()
	s.txWait.Close()

	last, left, err := s.leave()
	errs := []error{err}
	switch {
	case s.info.Mode == ZeroCopy && (!s.own || s.area.InUse()):
		// The device goes on writing into the chunks that it was given
		// until the kernel's work queue has taken them from it
		// (xp_release_deferred, net/xdp/xsk_buff_pool.c), which nothing
		// tells us of. Others must not get them before.
		time.Sleep(kernelRelease)
	case len(left) > 0 && s.txN.wakeups > 0:
		// Before Linux 6.17 a wakeup that ends early has taken frames that
		// the ring's index does not tell of (__xsk_generic_xmit,
		// net/xdp/xsk.c). They are completed meanwhile.
		time.Sleep(kernelRelease)
	}
	if last {
		errs = append(errs, s.rings.end())
	} else {
		s.rings.recall(left)
	}
	errs = append(errs, s.closeMemory())
	if err := errors.Join(errs...); err != nil {
		return s.errorf("close", err)
	}
	return nil
}

// leave takes the closed socket off its rings and its area and closes its
// descriptor, while no other socket is opened on the area: one that joins the
// rings does so wholly before or after. To those who go on sharing the rings it
// leaves the frames that were not read, and it returns those that are in the TX
// ring, for when the kernel can take them no more.
func (s *Socket) leave() (last bool, left []unsent, err error) {
	fd := s.os.poller()
	err = s.area.Detach(fd, func() error {
		var moved error
		if last, moved = s.rings.leave(fd); !last {
			s.drop()
			left = s.unsent()
		}
		return errors.Join(moved, s.os.close())
	})
	return last, left, err
}

// unsent is what is in the TX ring.
func (s *Socket) unsent() (left []unsent) {
	if s.tx == nil {
		return nil
	}
	x, y := s.tx.Untaken()
	for _, span := range [2][]desc{x, y} {
		for _, d := range span {
			f, ok := s.area.Unsent(s.rings.id, d.Addr)
			left = append(left, unsent{f, d.Addr, ok, d.Options&contd != 0})
		}
	}
	return left
}

// drop gives the frames that were not read back to the fill ring, which goes on
// to serve who shares it.
func (s *Socket) drop() {
	if s.rx == nil {
		return
	}
	var frames [64]umem.Frame
	for left := int(s.rx.Size()); left > 0; left -= len(frames) {
		n := 0
		x, y := s.rx.Peek(uint32(len(frames)))
		for _, span := range [2][]desc{x, y} {
			for _, d := range span {
				frames[n] = s.area.Decode(d.Addr, d.Len, false)
				n++
			}
		}
		good, _ := s.area.Admit(s.rings.id, frames[:n])
		s.rx.Release(uint32(n))
		s.rings.release(frames[:good])
	}
}

// kernelRelease is how long the chunks of a closed zero-copy socket are kept from
// other users of its area, and those that a socket may have in transmission from
// who shares its queue. A queue was seen busy for some 20 ms after its last
// socket had closed.
const kernelRelease = 100 * time.Millisecond

// closeMemory gives up the pool that the socket made in another's area, and the
// area that a socket made when this was the last on it: others may be using both
// memory and pools of the one that made them.
func (s *Socket) closeMemory() error {
	var err error
	if s.made && !s.own {
		err = s.txPool.Close()
	}
	return errors.Join(err, s.area.CloseUnused())
}

// linger waits for what is being sent, while the interface takes it. The user's
// deadline for sending is not its own.
func (s *Socket) linger() {
	if s.tx == nil || s.cfg.Linger <= 0 || s.area.InTransmission(s.rings.id) == 0 {
		return
	}
	end := time.Now().Add(s.cfg.Linger)
	nap := func(d time.Duration) error {
		left := time.Until(end)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		time.Sleep(min(d, left))
		return nil
	}
	// What others go on to send meanwhile may be lost for as long as they do.
	for time.Now().Before(end) {
		if err := s.drain(nap); !errors.Is(err, ErrLost) {
			return
		}
	}
}

// Snapshot counts the chunks of the socket's area by owner.
func (s *Socket) Snapshot() umem.Snapshot { return s.area.Snapshot() }

// String names the socket for a person.
func (s *Socket) String() string {
	return fmt.Sprintf("xsk %s queue %d (%v)", s.info.Interface, s.info.Queue, s.info.Mode)
}
