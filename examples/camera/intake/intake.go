// SPDX-License-Identifier: MIT

package intake

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// tail is how often it is looked for what is due while no packets come.
	tail = 10 * time.Millisecond
	// backlog is how long packets may wait to be taken, at most, before it is looked
	// for what is due all the same.
	backlog = 100 * time.Millisecond
)

// Intake makes images of packets that come from any number of goroutines.
type Intake struct {
	images chan *assemble.Image
	resend func(gv.Resend) error // nil: the camera cannot

	mu       sync.Mutex // guards what follows
	asm      *assemble.Assembler
	closed   bool
	ticked   time.Time
	asked    uint64 // requests that could not be sent
	why      error  // the last reason
	requests []gv.Resend
}

// New makes an Intake. Resend asks the camera for packets; it is called while packets
// are received and should not wait. Nil if the camera cannot.
func New(cfg assemble.Config, resend func(gv.Resend) error) (*Intake, error) {
	cfg.Resend = resend != nil
	asm, err := assemble.New(cfg)
	if err != nil {
		return nil, err
	}
	// No more images than there are buffers can be waiting: sending never blocks.
	return &Intake{images: make(chan *assemble.Image, asm.Buffers()), resend: resend, asm: asm}, nil
}

// Images gives each image as it is closed, complete or not, in their order. Each must
// be given back with Release. It is closed by Close.
func (in *Intake) Images() <-chan *assemble.Image { return in.images }

// Release gives an image back: its buffer is free for another.
func (in *Intake) Release(m *assemble.Image) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asm.Release(m)
}

// Take takes n packets that came just now: packet returns the segments of each. They
// are not needed any more when Take returns.
//
// Drained says that no more are waiting. Only then is it known what has not come: on
// a busy machine, a receiver that was kept from running finds packets of 100 ms that
// are all in time.
func (in *Intake) Take(n int, packet func(i int) (first []byte, rest [][]byte), drained bool) {
	now := time.Now()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	for i := range n {
		first, rest := packet(i)
		in.asm.Packet(first, rest, now)
	}
	if drained || now.Sub(in.ticked) > backlog {
		in.ticked = now
		in.asm.Tick(now)
	}
	in.handOn()
}

// Idle does what is due while no packets come, and none are waiting.
func (in *Intake) Idle() { in.Take(0, nil, true) }

// handOn hands on what the assembler has made. The lock is held.
func (in *Intake) handOn() {
	for m, ok := in.asm.Next(); ok; m, ok = in.asm.Next() {
		in.images <- m
	}
	in.requests = in.asm.Requests(in.requests[:0])
	for _, r := range in.requests {
		if err := in.resend(r); err != nil {
			in.asked, in.why = in.asked+1, err
		}
	}
}

// Counters are the counters so far.
func (in *Intake) Counters() assemble.Counters {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.asm.Counters()
}

// InFlight is how many images have begun and are not closed yet.
func (in *Intake) InFlight() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.asm.InFlight()
}

// Unasked is how many requests to resend could not be sent, and why the last.
func (in *Intake) Unasked() (uint64, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.asked, in.why
}

// Close ends the stream: what is in flight is aborted and handed out, and Images is
// closed. Packets that come after it are dropped.
func (in *Intake) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	in.asm.Abort()
	in.handOn()
	close(in.images)
}

// Drops are packets that reached this machine and were lost in it, before they came
// to the Intake.
type Drops struct {
	Ring uint64 // no room: rings full, no chunk free, or a socket's buffer full
	// Large did not fit into a frame: the MTU is higher than when the port was
	// opened, or larger chunks or multi-buffer are needed.
	Large uint64
	Other uint64 // that came from another address than the camera's
}

// All are those that are lost packets of the stream.
func (d Drops) All() uint64 { return d.Ring + d.Large }

// Source is a way that a stream comes.
type Source interface {
	// Port is the UDP port that the camera should send to.
	Port() uint16
	// Receive gives packets to in until ctx ends, and returns nil then.
	Receive(ctx context.Context, in *Intake) error
	// Drops counts what was lost. It is not for the data path.
	Drops() (Drops, error)
	// String says what was obtained.
	String() string
	Close() error
}

// ended makes the end of a context no error.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}
