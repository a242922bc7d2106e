// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// follow reads the notifications until Close. It alone reads the events socket.
func (t *Table) follow() {
	buf := make([]byte, dumpSize)
	for !t.stopped() {
		b, err := t.events.receive(buf, true)
		if err == nil {
			err = t.apply(b)
		}
		switch {
		case err == nil || t.stopped():
		case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EMSGSIZE), errors.Is(err, unix.EBADMSG):
			// Notifications are lost, or one is not understood.
			t.resync(buf)
		default:
			// Nothing is known of such an error. The tables are read anew, but not in
			// a circle without a pause.
			t.resync(buf)
			t.pause(t.timing.retry)
		}
	}
}

// apply takes one datagram of notifications.
func (t *Table) apply(b []byte) error {
	return messages(b, func(h header, body []byte) error {
		c, news, err := t.mirror.apply(h.typ, body)
		if news {
			t.changed(c)
		}
		return err
	})
}

// changed makes all answers old. It comes after the change of the mirror.
func (t *Table) changed(c cause) {
	t.counts[c].Add(1)
	t.gen.bump()
	if c == neighbourChanged {
		return // the mirror is what answers are made of: nothing more will come
	}
	select {
	case t.unsettled <- struct{}{}:
	default: // it is known already
	}
}

// resync brings the mirror up to date after notifications were lost. The queue is
// emptied first: what it holds is older than what was lost, and would undo part of
// what is read now. An overrun ends, and the kernel queues again, when the queue is
// empty, which is before the tables are read.
func (t *Table) resync(buf []byte) {
	for !t.stopped() {
		if t.drain(buf) && t.read() == nil {
			break
		}
		t.pause(t.timing.retry)
	}
	t.changed(overrun)
}

// drainLimit bounds the datagrams thrown away at once: should they come faster than
// they can be read, the tables are read on the next attempt.
const drainLimit = 1 << 16

// drain empties the queue, and tells whether it did.
func (t *Table) drain(buf []byte) bool {
	for range drainLimit {
		_, err := t.events.receive(buf, false)
		switch {
		case err == unix.EAGAIN:
			return true
		case err == nil, errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EMSGSIZE):
		default:
			return false
		}
	}
	return false
}

func (t *Table) stopped() bool {
	select {
	case <-t.stop:
		return true
	default:
		return false
	}
}

// pause waits, but not longer than until Close.
func (t *Table) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.stop:
	}
}

// maintain does what has its time, until Close.
func (t *Table) maintain() {
	settle := time.NewTimer(t.timing.settle)
	defer settle.Stop()
	settle.Stop()
	refresh := time.NewTicker(t.timing.refresh)
	defer refresh.Stop()
	defer t.keep.ticker.Stop()
	waiting, again := false, false
	for {
		select {
		case <-t.stop:
			return
		case <-t.unsettled:
			// What comes while the timer runs gets its full time too.
			if again = waiting; !waiting {
				waiting = true
				settle.Reset(t.timing.settle)
			}
		case <-settle.C:
			t.settle()
			if waiting = again; again {
				again = false
				settle.Reset(t.timing.settle)
			}
		case <-refresh.C:
			t.mirror.soil()
			t.settle()
		case <-t.keep.ticker.C:
			t.freshen()
		}
	}
}

// settle makes all answers old once more after a change. The kernel announces some
// changes before they take effect: the removal of a route while it still answers
// with it, that an interface is down before the routes over it go, an MTU before
// IPv6 has taken note. An answer may have been asked for in between.
func (t *Table) settle() {
	for _, index := range t.mirror.takeDirty() {
		// The request waits for the lock of all configuration, so until the change
		// is over. An interface that cannot be asked for is gone, which will be or
		// has been told; or the next refresh asks for it.
		_ = t.slow.do(unix.RTM_GETLINK, 0, linkRequest(index), func(b []byte) error {
			_, err := t.mirror.applyLink(unix.RTM_NEWLINK, b)
			return err
		})
	}
	t.gen.bump()
}
