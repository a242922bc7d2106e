// SPDX-License-Identifier: MIT

package xsk

// spareWakeups is how many wakeups a flush may make beyond those that the
// frames in the ring need.
const spareWakeups = 8

// Flush tells the kernel to send what is in the TX ring and returns how many
// frames it left there: not an error, but work for the next Flush. In copy mode
// the system call itself sends, Config.TxBudget frames at a time (32 before Linux
// 6.17), so Flush calls as often as that takes, and not oftener: its length is
// bounded. In zero-copy mode the driver goes on by itself, no call is made while
// it does not ask for one, and what is left is on its way.
//
// Frames that poll(2) sent before, see Send, are not among those that its errors
// tell of: what the device refused of them is lost and completed like the others.
//
// It also reaps completions, which the kernel needs room for.
//
// Errors: ErrLost (errors.Is EBUSY): the device refused packets after they had
// left the ring; they are counted in TxLost and the rest was sent. ErrLinkDown
// (ENETDOWN): the frames stay queued. ErrNoInterface (ENXIO): the interface is
// gone. ErrDirection. net.ErrClosed.
func (s *Socket) Flush() (left int, err error) {
	left, wakeup, err := s.flush()
	if wakeup {
		s.lockAndWakeFill()
	}
	return left, err
}

// flush is Flush but for telling the kernel of chunks that went on into the fill
// ring, see reap.
func (s *Socket) flush() (left int, wakeup bool, err error) {
	s.txMu.Lock()
	defer s.txMu.Unlock()
	switch {
	case s.closed.Load():
		return 0, false, s.errClosed("flush")
	case s.tx == nil:
		return 0, false, s.errorf("flush", ErrDirection)
	}
	left, err = s.wakeTx(func() int {
		n, w := s.reap()
		wakeup = wakeup || w
		return n
	})
	return left, wakeup, err
}

// wakeTx makes the wakeups of a flush, and reaps between and after them. The lock
// is held.
func (s *Socket) wakeTx(reap func() int) (left int, err error) {
	pending := s.tx.Pending()
	stalls := 0
	for calls := pending/uint32(s.info.TxBudget) + spareWakeups; pending > 0 && calls > 0 && s.tx.NeedWakeup(); calls-- {
		before := s.tx.Consumed()
		s.txN.wakeups++
		wakeErr := s.os.wakeTx()
		after := s.tx.Consumed()
		pending = s.tx.Pending()
		switch o := s.classify(wakeErr, before != after); o {
		case done, again:
			if before != after {
				continue
			}
			// No progress: a signal, the completion ring is full, or
			// the driver works at its own pace.
			if stalls++; reap() == 0 && (o == done || stalls > 1) {
				return int(pending), err
			}
		case lost:
			s.txN.lost++
			calls++ // one packet a call: bounded by what is pending
			err = s.errorf("flush", explain(o, wakeErr))
		default:
			return int(pending), s.errorf("flush", explain(o, wakeErr))
		}
	}
	reap()
	return int(pending), err
}
