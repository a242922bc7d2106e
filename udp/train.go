// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Train is one large slice of a region, sent as datagrams of equal size but for the
// last.
type Train struct {
	// Flow is where it goes to.
	Flow *Flow
	// Data is what is sent. It is only read, and must not change until Cookie is
	// back.
	Data umem.Slice
	// Size is how many bytes of Data each datagram has, at least 1. With more than
	// Flow.MaxPayload less the header, datagrams are copied and take the kernel lane,
	// in fragments.
	Size int
	// Header, if not nil, writes the application's header of datagram i into room
	// and returns its length. It goes before the bytes of Data. The queue is locked
	// meanwhile: it must not call it.
	Header func(i int, room []byte) int
	// First is the number of the first datagram.
	First int
	// Cookie, if not 0, is returned once by Queue.Completed when nobody reads Data
	// any more, whether all of it was sent or not.
	Cookie uint64
	// Pacer, if not nil, says when each datagram leaves, as in Queue.SendPaced;
	// Config.Coalesce has no say then.
	Pacer *Pacer
}

// HeaderRoom is the most bytes that Train.Header may write.
const HeaderRoom = 256

// SendTrain sends a train and returns how many of its datagrams have gone. It waits
// for room in the ring, and ends early with an error of ctx, which may be nil, or of
// the Conn. A datagram that is refused ends the train, with the error of that
// datagram. The cookie comes in any case but ErrCookies and EINVAL.
//
// A device that loses some of the datagrams, as while its peer has no carrier, does not
// end the train: the rest goes, and in the end the error is ErrLost.
//
// Trains of several goroutines on one queue mix, a batch of datagrams at a time.
//
// Errors: those of SendGather, without a SendError around them.
func (q *Queue) SendTrain(ctx context.Context, t Train) (n int, err error) {
	if t.Size < 1 || t.Flow == nil {
		return 0, fmt.Errorf("udp: send train: size %d, flow %v: both are required: %w", t.Size, t.Flow, errInvalid)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	run := train{Train: &t, left: t.Data.Len() / t.Size}
	if t.Data.Len()%t.Size > 0 {
		run.left++
	}
	if err := q.open(&run); err != nil {
		return 0, err
	}
	for run.left > 0 && err == nil {
		var k int
		if t.Pacer != nil {
			k, err = q.sendPacedCar(ctx, &run)
		} else if k, err = q.sendCars(&run, batch, 0); k == 0 && err == nil {
			err = q.awaitRoom(ctx)
		}
		n += k
	}
	return n, errors.Join(err, run.noLoss(q.settle()), q.finish(&run), run.lost)
}

// sendPacedCar sends the next datagram when it is due, once there is room for it.
func (q *Queue) sendPacedCar(ctx context.Context, t *train) (n int, err error) {
	launch, err := q.pace(ctx, t.Pacer, q.launchable(t.Flow, t.Size))
	for n == 0 && err == nil {
		if n, err = q.sendCars(t, 1, launch); n == 0 && err == nil {
			err = q.awaitRoom(ctx)
		}
	}
	if n > 0 {
		q.departed(t.Pacer, launch)
	}
	return n, err
}

// train is a Train on its way.
type train struct {
	*Train
	next   int // number of the next datagram, from 0
	left   int // how many there still are
	ticket [1]xsk.Ticket
	slice  [1]umem.Slice
	lost   error // what the device lost, to be told in the end
}

// noLoss keeps an error for the end that only tells of a loss.
func (t *train) noLoss(err error) error {
	if errors.Is(err, ErrLost) {
		t.lost, err = err, nil
	}
	return err
}

// open obtains the train's ticket, which its cookie comes with.
func (q *Queue) open(t *train) error {
	if q.sock == nil {
		q.txMu.Lock()
		defer q.txMu.Unlock()
		if len(q.due) >= maxDue {
			return q.conn.ended(ErrCookies)
		}
		return q.conn.ended(nil)
	}
	n, err := q.sock.Track(t.ticket[:])
	if err != nil {
		return q.conn.ended(err)
	}
	if n == 0 {
		return ErrCookies
	}
	return nil
}

// finish says that the train is over.
func (q *Queue) finish(t *train) error {
	cookie := [1]uint64{t.Cookie}
	if q.sock != nil {
		return q.sock.Seal(t.ticket[:], cookie[:])
	}
	if t.Cookie != 0 {
		q.txMu.Lock()
		defer q.txMu.Unlock()
		q.due = append(q.due, t.Cookie)
	}
	return nil
}

// sendCars sends the next datagrams, as many as there is room for, and returns how
// many.
func (q *Queue) sendCars(t *train, most int, launch time.Duration) (n int, err error) {
	q.txMu.Lock()
	defer q.txMu.Unlock()
	if err := q.conn.ended(nil); err != nil {
		return 0, err
	}
	q.free = 0
	for ; n < most && t.left > 0 && err == nil; n++ {
		if err = q.sendCar(t, launch); err != nil {
			break
		}
		t.next++
		t.left--
	}
	if err == errNoRoom {
		err = nil
	}
	if q.sock == nil {
		return n, err
	}
	err = errors.Join(err, q.commit())
	switch {
	case t.Pacer == nil:
		err = errors.Join(err, t.noLoss(q.coalesce()))
	case launch == 0:
		err = errors.Join(err, t.noLoss(q.kick()))
	}
	return n, err
}

// sendCar puts the next datagram on its lane. The lock is held.
func (q *Queue) sendCar(t *train, launch time.Duration) (err error) {
	off := t.next * t.Size
	t.slice[0], err = t.Data.Sub(off, min(t.Size, t.Data.Len()-off))
	if err != nil {
		return err
	}
	g := Gather{Flow: t.Flow, Slices: t.slice[:], launch: launch}
	if t.Header != nil {
		n := t.Header(t.First+t.next, q.label[:])
		if n < 0 || n > len(q.label) {
			return fmt.Errorf("udp: send train: a header of %d bytes: at most %d: %w", n, len(q.label), errInvalid)
		}
		g.Header = q.label[:n]
	}
	return q.placeGather(&g, t.ticket[0])
}

// awaitRoom waits until there may be room in the ring, or frames.
func (q *Queue) awaitRoom(ctx context.Context) error {
	if q.sock == nil {
		return q.conn.ended(q.conn.writes.Sleep(ctx, laneInterval))
	}
	if err := q.Flush(); notLost(err) != nil {
		return err
	}
	return q.conn.ended(q.conn.writes.Sleep(ctx, ringNap))
}
