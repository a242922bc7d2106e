// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

const (
	// launchLeast is the least time before its launch that a datagram is handed to
	// the device.
	launchLeast = 500 * time.Microsecond
	// launchWake is how long before the next launch a sender wakes up: what it may be
	// late by, without harm, is what is more than the least.
	launchWake = 2 * time.Millisecond
	// launchMost is what a sender is ahead by at most: it hands over all that is due
	// until then, with one kick. As much is on its way when it stops.
	launchMost = 4 * time.Millisecond
)

// planLaunch decides whether paced datagrams carry launch times: if the device has
// them, and the area has room for them.
func (c *Conn) planLaunch(has bool) {
	if a := c.cfg.Area; a != nil && a.Info().TxMetadata < xsk.TxMetadataSize {
		has = false
	}
	c.launch = has && c.cfg.LaunchClock != nil
	c.info.LaunchTime = c.launch
}

// launches tells whether a datagram can have a launch time: not if the kernel lane
// takes it.
func (q *Queue) launches(o *Outgoing) bool {
	return q.conn.launch && o.held && q.launchable(q.flow(o), len(o.Payload))
}

// launchable tells it of n bytes to a destination.
func (q *Queue) launchable(fl *Flow, n int) bool {
	if !q.conn.launch {
		return false
	}
	st := fl.current()
	return st.err == nil && st.kind.Direct() && n <= st.most && fl.settled()
}

// aligned tells whether metadata can lie before headers that begin at an offset into
// their chunk.
func aligned(at int) bool { return at%8 == 0 }

// payloadAt is where in a chunk the payload begins that is not there yet.
func (c *Conn) payloadAt(t *packet.Template, launch time.Duration) int {
	if at := c.headerRoom; launch == 0 || aligned(at-t.Len()) {
		return at
	}
	return c.headerRoom - (c.headerRoom-t.Len())%8
}

// ask tells the device what to do with a frame that begins with a template's headers:
// finish the checksum, send it at a time.
func ask(area *umem.Area, f umem.Frame, t *packet.Template, launch time.Duration) (umem.Frame, error) {
	offload := t.Checksum() == packet.Offload
	if !offload && launch == 0 {
		return f, nil
	}
	m := xsk.TxMetadata{Launch: launch}
	if offload {
		m.Checksum, m.ChecksumStart, m.ChecksumOffset = true, uint16(t.ChecksumStart()), packet.ChecksumOffset
	}
	return xsk.PutTxMetadata(area, f, m)
}

// pace waits until the next datagram of p may go into the ring, or the Conn ends. With
// launch times, which only what goes by the fast lane has, the result is not 0, and
// belongs into the frame's metadata; what is in the ring was flushed if there was time
// to wait. Without, the datagram is to be kicked now. Either way, departed follows, and
// settle in the end. The lock for sending is not held.
func (q *Queue) pace(ctx context.Context, p *Pacer, fast bool) (launch time.Duration, err error) {
	by := timebase{clock: p.clock}
	var in sleeper = &q.conn.writes
	if q.conn.launch {
		by.clock, by.conn = q.conn.cfg.LaunchClock, q.conn
		in = settledSleep{q}
		if fast {
			by.ahead.least, by.ahead.wake, by.ahead.most = launchLeast, launchWake, launchMost
		}
	}
	at, err := p.wait(ctx, in, by)
	if err != nil {
		return 0, q.conn.ended(err)
	}
	if by.ahead.most > 0 {
		return at, nil
	}
	return 0, nil
}

// departed tells p that the datagram that pace was called for has left, or will.
func (q *Queue) departed(p *Pacer, launch time.Duration) {
	switch {
	case launch != 0:
		p.sent(launch)
	case q.conn.launch:
		p.sent(q.conn.cfg.LaunchClock())
	default:
		p.Sent()
	}
}

// settle flushes what launch times have left in the ring.
func (q *Queue) settle() error {
	if !q.conn.launch {
		return nil
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	return q.kick()
}

// kick flushes if there is something to flush. The lock is held.
func (q *Queue) kick() error {
	if q.pending == 0 {
		return nil
	}
	_, err := q.flush()
	q.retry(err)
	return err
}

// settledSleep lets what is in the ring go before a wait.
type settledSleep struct{ q *Queue }

func (s settledSleep) Sleep(ctx context.Context, limit time.Duration, _ ...int) error {
	if err := s.q.settle(); err != nil {
		return err
	}
	return s.q.conn.writes.Sleep(ctx, limit)
}

func (s settledSleep) Ended(ctx context.Context) error { return s.q.conn.writes.Ended(ctx) }
