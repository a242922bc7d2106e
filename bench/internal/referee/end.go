// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
)

// A Link is two workers and the wire between their interfaces.
type Link interface {
	// Ends returns the sender's and the receiver's worker, alive and with no
	// path open. Workers that died are started again.
	Ends(ctx context.Context) (tx, rx *End, err error)
	// Ready gives the wire what a row needs, its MTU above all, or tells why it
	// cannot have that. No path is open.
	Ready(row control.Row) error
}

// A Middle is a Link with something between its ends that forwards, while both have
// their paths open.
type Middle interface {
	Link
	Open() error
	Mode() string
	Counters() (loss.Counts, error)
	Shut() error // does nothing if nothing is open
}

// How long a worker may take to answer. Waiting for a link that is down is
// the longest of it.
const (
	answerTime  = 10 * time.Second
	prepareTime = 90 * time.Second
)

// An End is one worker and the interface that it uses.
type End struct {
	Interface string
	IP        netip.Addr
	MAC       net.HardwareAddr
	NextHop   net.HardwareAddr // towards the other end; nil where that is the other end
	Keep      bool             // the settings of the interface are not to be touched
	Facts     control.Facts    // since Greet

	conn   *control.Conn
	broken bool // the worker is of no more use
	lost   bool // and nor is the stream to it
	last   bool // the open path is the last that the worker may open
}

// NewEnd returns an end whose worker is at the other side of conn.
func NewEnd(conn *control.Conn, iface string, ip netip.Addr, mac net.HardwareAddr) *End {
	return &End{Interface: iface, IP: ip, MAC: mac, conn: conn}
}

// Greet exchanges hellos with the worker.
func (e *End) Greet() error {
	m := control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version, Interface: e.Interface}}
	a, err := e.ask(m, answerTime, control.TypeHello)
	if err != nil {
		return err
	}
	if a.Hello.Version != control.Version {
		return fmt.Errorf("worker has protocol version %d, this bench has %d", a.Hello.Version, control.Version)
	}
	e.Facts = a.Hello.Facts
	return nil
}

// Bye ends the worker.
func (e *End) Bye() error {
	_, err := e.ask(control.Message{Type: control.TypeBye}, answerTime, control.TypeOK)
	return errors.Join(err, e.conn.Close())
}

// Broken tells whether the worker can no longer be talked to.
func (e *End) Broken() bool { return e.broken }

// Lost tells whether the stream to the worker cannot be used any more: whoever is
// at its other end cannot start another one.
func (e *End) Lost() bool { return e.lost }

// Hangup closes the stream, which ends the worker and every wait for it.
func (e *End) Hangup() error { return e.conn.Close() }

func (e *End) addr(port uint16) netip.AddrPort { return netip.AddrPortFrom(e.IP, port) }

func (e *End) prepare(p control.Prepare) error {
	a, err := e.ask(control.Message{Type: control.TypePrepare, Prepare: &p}, prepareTime, control.TypeReady)
	// Nobody knows what a path that failed half-way has left in the process.
	e.last = err != nil || a.Ready.Info.OneShot
	return err
}

func (e *End) start(s control.Start) error {
	_, err := e.ask(control.Message{Type: control.TypeStart, Start: &s}, answerTime, control.TypeOK)
	return err
}

func (e *End) stop() error {
	_, err := e.ask(control.Message{Type: control.TypeStop}, answerTime, control.TypeOK)
	return err
}

// totals waits for the end of a window that has yet to last for d.
func (e *End) totals(d time.Duration) (control.Totals, error) {
	a, err := e.ask(control.Message{Type: control.TypeTotals}, d+answerTime, control.TypeTotals)
	if err != nil {
		return control.Totals{}, err
	}
	if a.Totals == nil {
		e.broken = true
		return control.Totals{}, errors.New("totals without figures")
	}
	return *a.Totals, nil
}

// guard runs f and hangs up other if the worker of e goes away meanwhile: what
// f waits for would be in vain then.
func (e *End) guard(other *End, f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.conn.Watch(ctx); err != nil {
			e.broken, e.lost = true, true
			_ = other.Hangup() // it is given up in any case
		}
	}()
	f()
	cancel()
	<-done
}

// close closes the path. Where that fails, or frees the path only in part, the
// worker is given up: it holds what the next path needs.
func (e *End) close() {
	if e.broken {
		return
	}
	if _, err := e.ask(control.Message{Type: control.TypeClose}, answerTime, control.TypeOK); err != nil || e.last {
		e.broken = true
	}
}

// ask asks and wants an answer of a certain type, or a reason.
func (e *End) ask(m control.Message, wait time.Duration, want control.Type) (control.Message, error) {
	if e.broken {
		return control.Message{}, errors.New("the worker is gone")
	}
	a, err := e.conn.Call(m, wait)
	if err != nil {
		e.broken, e.lost = !isAnswer(err), !isAnswer(err)
		return control.Message{}, err
	}
	if a.Type != want {
		e.broken, e.lost = true, true
		return control.Message{}, fmt.Errorf("answer %s to %s, want %s", a.Type, m.Type, want)
	}
	return a, nil
}

// isAnswer tells whether err is what a worker answered, rather than the loss
// of the worker.
func isAnswer(err error) bool {
	var reason *control.Error
	return errors.As(err, &reason)
}
