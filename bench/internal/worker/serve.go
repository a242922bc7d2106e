// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// An Opener opens the side of a path that p describes: a path.Sender, a
// path.Receiver or a path.Peer, as its test and role say.
type Opener func(ctx context.Context, p control.Prepare) (path.End, error)

// Config is what a worker serves with.
type Config struct {
	Facts control.Facts
	NIC   func(name string) (*control.NIC, error) // nil: nothing is told of interfaces
	Open  Opener
	Meter Meter
}

// Serve answers the controller at the other end of conn until it says bye or
// closes the stream, which are no errors, or breaks the protocol. It then ends
// what is running, closes what is open, and closes conn.
func Serve(conn *control.Conn, cfg Config) error {
	s := &server{cfg: cfg}
	err := control.Serve(context.Background(), conn, s.answer)
	return errors.Join(err, s.close())
}

// A server is the state of one Serve: at most one open path, at most one
// window on it.
type server struct {
	cfg     Config
	greeted bool
	prepare control.Prepare
	end     path.End // nil: none is open
	window  *window  // nil: none has begun on end
}

var answerOK = control.Message{Type: control.TypeOK}

// answer does what q asks and returns the answer. An error is what the
// controller shall be told.
func (s *server) answer(ctx context.Context, q control.Message) (control.Message, error) {
	if !s.greeted && q.Type != control.TypeHello {
		return control.Message{}, fmt.Errorf("%s before hello", q.Type)
	}
	switch q.Type {
	case control.TypeHello:
		return s.hello(*q.Hello)
	case control.TypePrepare:
		return s.open(ctx, *q.Prepare)
	case control.TypeStart:
		return answerOK, s.start(ctx, *q.Start)
	case control.TypeStop:
		return answerOK, s.stop()
	case control.TypeTotals:
		return s.totals()
	case control.TypeClose:
		return answerOK, s.close()
	case control.TypeBye:
		return answerOK, control.ErrBye
	default:
		return control.Message{}, fmt.Errorf("%s is no question", q.Type)
	}
}

func (s *server) hello(h control.Hello) (control.Message, error) {
	if h.Version != control.Version {
		return control.Message{}, fmt.Errorf("protocol version %d, this worker has %d: run the same bench on both ends", h.Version, control.Version)
	}
	facts := s.cfg.Facts
	if h.Interface != "" && s.cfg.NIC != nil {
		n, err := s.cfg.NIC(h.Interface)
		if err != nil {
			return control.Message{}, err
		}
		facts.NIC = n
	}
	s.greeted = true
	return control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version, Facts: facts}}, nil
}

func (s *server) open(ctx context.Context, p control.Prepare) (control.Message, error) {
	if s.end != nil {
		return control.Message{}, errors.New("prepare while a path is open")
	}
	if _, err := suite.Find(p.Test); err != nil {
		return control.Message{}, err
	}
	end, err := s.cfg.Open(ctx, p)
	if err != nil {
		return control.Message{}, err
	}
	s.end, s.prepare = end, p
	return control.Message{Type: control.TypeReady, Ready: &control.Ready{Info: end.Info()}}, nil
}

func (s *server) start(ctx context.Context, st control.Start) error {
	if s.end == nil {
		return errors.New("start without a path")
	}
	if s.window != nil && !s.window.ended() {
		return errors.New("start while a window is open")
	}
	w, err := begin(ctx, s.end, s.prepare, st, s.cfg.Meter)
	if err != nil {
		return err
	}
	s.window = w
	return nil
}

func (s *server) stop() error {
	if s.window == nil {
		return errors.New("stop without a window")
	}
	s.window.cancel()
	<-s.window.done
	return nil
}

func (s *server) totals() (control.Message, error) {
	if s.window == nil {
		return control.Message{}, errors.New("totals without a window")
	}
	<-s.window.done
	if s.window.err != nil {
		return control.Message{}, s.window.err
	}
	t := s.window.totals
	return control.Message{Type: control.TypeTotals, Totals: &t}, nil
}

// close ends the window and closes the path, if there are any.
func (s *server) close() error {
	if s.window != nil {
		s.window.cancel()
		<-s.window.done
		s.window = nil
	}
	if s.end == nil {
		return nil
	}
	err := s.end.Close()
	s.end = nil
	return err
}
