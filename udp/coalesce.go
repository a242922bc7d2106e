// SPDX-License-Identifier: MIT

package udp

import (
	"time"
)

// Flush sends what waits for company.
func (q *Queue) Flush() error {
	if q.sock == nil {
		return q.conn.ended(nil)
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	_, err := q.flush()
	return err
}

// flush is Flush with the lock held.
func (q *Queue) flush() (left int, err error) {
	q.pending = 0
	left, err = q.sock.Flush()
	if left > 0 {
		q.pending = left
	}
	if err != nil {
		err = q.conn.ended(err)
	}
	return left, err
}

// coalesce flushes now, or sees to it that it is done in time. The lock is held.
func (q *Queue) coalesce() error {
	if q.pending == 0 {
		return nil
	}
	co := q.conn.cfg.Coalesce
	if co.Delay == 0 || co.Frames > 0 && q.pending >= co.Frames {
		_, err := q.flush()
		q.retry(err)
		return err
	}
	q.later(co.Delay)
	return nil
}

// later flushes after d, unless that is planned already. The lock is held.
func (q *Queue) later(d time.Duration) {
	if q.planned {
		return
	}
	q.planned = true
	if q.tail == nil {
		q.tail = time.AfterFunc(d, q.expire)
	} else {
		q.tail.Reset(d)
	}
}

// expire is the end of a delay.
func (q *Queue) expire() {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	q.planned = false
	if q.pending > 0 && q.conn.err.Load() == nil {
		_, err := q.flush()
		q.retry(err)
	}
}

// retry plans another flush for what one has left in the ring: soon, or, if the
// device refused, when it may have recovered. The lock is held.
func (q *Queue) retry(err error) {
	const soon, recovered = time.Millisecond, 100 * time.Millisecond
	switch {
	case q.pending == 0 || q.closed:
	case err == nil:
		q.later(soon)
	default:
		q.later(recovered)
	}
}
