// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

const (
	// idleTime is how long a client may say nothing beyond the window that it asked
	// for last. It may wait for a path at its own end meanwhile.
	idleTime = 2 * time.Minute
	// answerTime is how long the worker may take for an answer beyond that window.
	answerTime = 2 * time.Minute
)

var (
	errIdle  = errors.New("the client has said nothing for too long")
	errLong  = errors.New("the run has taken longer than it was to")
	errDied  = errors.New("the worker has died")
	errOwner = errors.New("prepare for another interface or other addresses than were agreed on")
)

// A session is one client's use of the server. Its methods are for one goroutine.
type session struct {
	server  *Server
	welcome control.Welcome
	shared  bool // the control connection goes over the tests' interface

	end    context.CancelCauseFunc
	idle   *time.Timer
	window time.Duration // that was asked for last
	worker *Worker       // nil: there is none
	forget func()        // makes its death no end of the session
}

// run passes messages on until the client leaves or the time is over. No worker is
// left when it returns.
func (s *session) run(ctx context.Context, conn *control.Conn, until time.Time) error {
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	defer s.stop()
	long := time.AfterFunc(time.Until(until), func() { s.end(errLong) })
	defer long.Stop()
	s.idle = time.AfterFunc(s.server.cfg.idleTime, func() { s.end(errIdle) })
	defer s.idle.Stop()
	return control.Serve(ctx, conn, s.answer)
}

// answer does what the session is asked for itself, and passes all else on.
func (s *session) answer(ctx context.Context, q control.Message) (control.Message, error) {
	s.idle.Stop()
	defer func() { s.idle.Reset(s.server.cfg.idleTime + s.window) }()
	switch q.Type {
	case control.TypeWorker:
		return control.Message{Type: control.TypeOK}, s.renew(ctx)
	case control.TypeHello:
		q.Hello.Interface = s.welcome.Interface
	case control.TypePrepare:
		if err := s.check(*q.Prepare); err != nil {
			return control.Message{}, err
		}
	case control.TypeStart:
		s.window = q.Start.Duration
	case control.TypeStop, control.TypeTotals, control.TypeClose:
	case control.TypeBye:
		s.stop()
		return control.Message{Type: control.TypeOK}, control.ErrBye
	default:
		return control.Message{}, fmt.Errorf("%s is no question", q.Type)
	}
	return s.pass(ctx, q)
}

// pass asks the worker.
func (s *session) pass(ctx context.Context, q control.Message) (control.Message, error) {
	if s.worker == nil {
		return control.Message{}, fmt.Errorf("%s before %s", q.Type, control.TypeWorker)
	}
	// Nobody waits for the answer any more when the client has gone.
	defer context.AfterFunc(ctx, func() { _ = s.worker.Conn.Close() })()
	a, err := s.worker.Conn.Call(q, s.window+answerTime)
	var reason *control.Error
	if err != nil && !errors.As(err, &reason) {
		s.end(errDied)
		return control.Message{}, fmt.Errorf("%w: %w", errDied, err)
	}
	return a, err
}

// check tells whether the client may have that.
func (s *session) check(p control.Prepare) error {
	w := s.welcome
	if p.Interface != w.Interface || p.Local.Addr() != w.Addr || p.Peer.Addr() != w.Client ||
		p.LocalMAC != w.MAC || p.PeerMAC != w.NextHop || !p.Keep {
		return errOwner
	}
	return separate(p.Test, p.Row, w.Interface, s.shared)
}

// separate refuses a path that would cut the control connection off.
func separate(test string, row control.Row, iface string, shared bool) error {
	t, err := suite.Find(test)
	if err != nil {
		return err
	}
	p, err := path.Find(row.Path, t.Kind)
	if err != nil || !p.TakesAll || !shared {
		return err
	}
	return fmt.Errorf("%s takes all that comes in on %s, the control connection too: let that go over another interface", row.Path, iface)
}

// renew starts a worker in the place of the one before it, if there was one.
func (s *session) renew(ctx context.Context) error {
	s.stop()
	w, err := s.server.cfg.Start(ctx)
	if err != nil {
		return err
	}
	s.worker = &w
	gone, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-w.Exited:
			s.end(errDied)
		case <-quit:
		}
	}()
	s.forget = func() {
		close(quit)
		<-gone
	}
	return nil
}

// stop ends the worker.
func (s *session) stop() {
	if s.worker == nil {
		return
	}
	s.forget()
	s.worker.Stop()
	s.worker = nil
}
