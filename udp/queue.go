// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Queue receives and sends batches of datagrams in borrowed frames, on one queue
// of the interface and on the kernel lane.
//
// Any number of goroutines may use it; one that receives and one that sends never
// wait for each other. Nothing on the way allocates.
type Queue struct {
	conn *Conn
	sock *xsk.Socket // nil: the kernel lane alone
	in   inlet

	rooms *kernelRooms // without a socket

	rxMu   sync.Mutex   // guards what follows
	rx     []umem.Frame // a batch, and room for the longest packet
	bad    []umem.Frame
	extras *extra // free ones

	txMu  sync.Mutex   // guards what follows
	tx    []umem.Frame // placed, and not in the ring yet
	sizes []int        // of their payloads
	spare []umem.Frame // reserved for what is copied, and for the headers of what is gathered
	free  int          // room in the ring, as far as a call knows
	pieces
	closed  bool        // by the Conn's Close
	pending int         // frames in the ring that no flush was for
	tail    *time.Timer // flushes them when their time is over
	planned bool        // it runs
}

// pieces is what sending from pieces needs. The queue's txMu guards it.
type pieces struct {
	parts            [][]byte         // the bytes of one datagram
	region           []umem.Frame     // those that stay in their region
	flat             []byte           // all of them, for the kernel lane
	tickets          []xsk.Ticket     // of a batch
	cookies          []uint64         // likewise
	staged           []xsk.Ticket     // of the packets in tx, where they have some
	due              []uint64         // cookies to return, on the kernel lane alone
	label            [HeaderRoom]byte // for the header of a train's datagram
	gathered, copied uint64           // since the counters were written
}

func newPieces() pieces {
	return pieces{tickets: make([]xsk.Ticket, batch), cookies: make([]uint64, batch)}
}

// spares is how many frames are reserved at a time.
const spares = 16

// batch is how many frames move at a time within a call.
const batch = 64

// Number is the number of the queue on the interface, -1 on the kernel lane alone.
func (q *Queue) Number() int {
	if q.sock == nil {
		return -1
	}
	return q.sock.Info().Queue
}

// Socket is the AF_XDP socket underneath, for its statistics and its Info; nil on
// the kernel lane alone.
func (q *Queue) Socket() *xsk.Socket { return q.sock }

// Receive takes up to len(dst) datagrams of both lanes and returns how many,
// without waiting: 0 and no error when there are none. They are the caller's
// until Release.
//
// Errors: net.ErrClosed after Close; what ended the Conn otherwise.
func (q *Queue) Receive(dst []Received) (int, error) { return q.in.receive(dst) }

// ReceiveContext is Receive that waits until there is a datagram, in the way that
// Config.Wait says. ctx may be nil.
//
// Errors: those of Receive; os.ErrDeadlineExceeded; the context's.
func (q *Queue) ReceiveContext(ctx context.Context, dst []Received) (int, error) {
	return q.in.receiveContext(ctx, dst)
}

// SetReceiveDeadline sets when ReceiveContext gives up with
// os.ErrDeadlineExceeded, pending calls included. The zero time is never.
func (q *Queue) SetReceiveDeadline(t time.Time) { q.in.wait.SetDeadline(t) }

// fromRing receives from the AF_XDP socket. Frames that hold no datagram for us
// are counted and go back at once.
func (q *Queue) fromRing(dst []Received) (n int, err error) {
	if len(dst) == 0 {
		return 0, nil
	}
	q.rxMu.Lock()
	defer q.rxMu.Unlock()
	k, err := q.sock.ReceivePackets(q.rx, min(batch, len(dst)))
	if k == 0 || err != nil {
		return 0, err
	}
	n, bytes := q.sort(dst, q.rx[:k])
	st := &q.conn.stats
	st.fastRx.Add(uint64(n))
	st.fastRxBytes.Add(uint64(bytes))
	if len(q.bad) > 0 {
		if err := q.sock.Release(q.bad); err != nil {
			return n, err
		}
	}
	return n, nil
}

// sort makes datagrams of frames, and leaves those that hold none in q.bad.
func (q *Queue) sort(dst []Received, frames []umem.Frame) (n, bytes int) {
	q.bad = q.bad[:0]
	var now time.Time
	if q.conn.cfg.Timestamps {
		now = time.Now()
	}
	area := q.sock.Area()
	for i := 0; i < len(frames); {
		d, f, end := &dst[n], frames[i], i+1
		var length int
		var ok bool
		if f.More() {
			end = packetEnd(frames, i)
			length, ok = q.decodeChain(d, frames[i:end])
		} else if b, err := area.Bytes(f); err == nil {
			length, ok = q.decode(d, f, b, len(b), nil)
		}
		if ok {
			d.Time = now
			bytes += length
			n++
		} else {
			q.bad = append(q.bad, frames[i:end]...)
		}
		i = end
	}
	return n, bytes
}

// decode makes a datagram of a frame of total bytes, which begins with b in f and
// goes on in rest, and returns the length of its payload; or it tells that it is
// none for us.
func (q *Queue) decode(d *Received, f umem.Frame, b []byte, total int, rest [][]byte) (length int, ok bool) {
	c := q.conn
	var u packet.UDP
	if reason := u.Decode(b, total); reason != packet.OK {
		c.stats.reasons[reason].Add(1)
		return 0, false
	}
	if c.peer.IsValid() && u.Src != c.peer || c.foreign(&u) {
		c.stats.otherSource.Add(1)
		return 0, false
	}
	bad := false
	if c.cfg.RxChecksum != RxIgnore && !c.sound(&u, b, rest) {
		c.stats.badChecksum.Add(1)
		if bad = true; c.cfg.RxChecksum == RxVerify {
			return 0, false
		}
	}
	// Field by field, all of them: a value made first would be copied here.
	d.Payload, d.Rest = b[u.Offset:min(u.Offset+u.Length, len(b))], nil
	d.Src, d.Dst, d.TTL, d.TOS = c.scoped(u.Src), c.scoped(u.Dst), u.TTL, u.TOS
	d.BadChecksum, d.Truncated, d.Lane, d.held = bad, false, Fast, true
	d.head, d.from, d.frame, d.use, d.extra = uint16(u.Offset), q, f, 0, nil
	return u.Length, true
}

// sound tells whether the datagram's UDP checksum is good, or none, or left to a
// device that does not exist.
func (c *Conn) sound(u *packet.UDP, b []byte, rest [][]byte) bool {
	if c.virtual && u.LooksPartial(b) {
		c.stats.partial.Add(1)
		return true
	}
	switch u.Verify(b, rest...) {
	case packet.Good, packet.None:
		return true
	}
	return false
}

// Metadata reads what the driver knew of a datagram that is the caller's: a
// timestamp, the hash, a VLAN tag that it took out, each as far as the driver had
// it. False if there is nothing: on the kernel lane, or without Config.Metadata.
// It must be read before anything is written in front of the payload.
func (q *Queue) Metadata(d *Received) (m bpf.Metadata, ok bool) {
	if !d.held || d.Lane == Kernel || q.conn.prog == nil {
		return m, false
	}
	area := d.from.sock.Area()
	front, err := area.Shift(d.frame, -bpf.MetadataSize)
	if err != nil {
		return m, false
	}
	b, err := area.Bytes(front)
	if err != nil {
		return m, false
	}
	return q.conn.prog.Metadata(b[:bpf.MetadataSize])
}

// Release gives datagrams back, in any order, from any goroutine, and on any queue
// of the Conn. One that is given back twice, or was turned into a reply, is an
// error that says so; the others are given back all the same.
func (q *Queue) Release(ds []Received) error { return q.conn.giveBack(ds) }

func (c *Conn) giveBack(ds []Received) (err error) {
	r := returns{}
	for i := range ds {
		d := &ds[i]
		if d.held && d.extra == nil { // most are of one frame
			if r.n == len(r.frames) || d.from != r.from {
				r.turn(d.from)
			}
			r.frames[r.n] = d.frame
			r.n++
			d.held, d.Payload = false, nil
			continue
		}
		x := d.extra
		if !d.held || !x.end(d.use) {
			err = keep(err, fmt.Errorf("udp: release datagram %d: given back before, or turned into a reply: %w", i, umem.ErrFrame))
			continue
		}
		d.held, d.Payload, d.Rest, d.extra = false, nil, nil, nil
		if d.Lane == Kernel {
			msg := [1]lane.Message{x.msg}
			c.lane.Release(msg[:])
			x.msg = lane.Message{}
		} else {
			r.frame(d.from, d.frame)
		}
		for _, f := range x.frames {
			r.frame(d.from, f)
		}
		x.frames = x.frames[:0]
		r.gone = x.push(r.gone)
	}
	r.release()
	c.scratch.drop(r.gone)
	return keep(err, r.err)
}

// returns gathers what is given back, so that locks are taken once for many.
type returns struct {
	frames [batch]umem.Frame
	n      int
	from   *Queue // of the frames
	gone   *extra
	err    error // the first
}

func (r *returns) frame(from *Queue, f umem.Frame) {
	if r.n == len(r.frames) || from != r.from {
		r.turn(from)
	}
	r.frames[r.n] = f
	r.n++
}

// turn makes room for frames from a queue.
func (r *returns) turn(from *Queue) {
	r.release()
	r.from = from
}

func (r *returns) release() {
	if r.n > 0 {
		r.err = keep(r.err, r.from.sock.Release(r.frames[:r.n]))
		r.n = 0
	}
}

// keep returns the first error.
func keep(first, next error) error {
	if first != nil {
		return first
	}
	return next
}
