// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/spawn"
)

// Bounds of what a server bears.
const (
	handshakeTime = 15 * time.Second // from a connection to what it wants
	maxPending    = 32               // connections at a time
	farewellTime  = time.Second      // for a client to read why it goes
	farewellMost  = 64 << 10         // bytes that it may have sent meanwhile
)

// A Worker is what a session passes messages on to.
type Worker struct {
	Conn   *control.Conn
	Exited <-chan struct{}
	Stop   func() // ends it and waits until it is gone
}

// ServerConfig says how to serve.
type ServerConfig struct {
	Interface string        // to run tests on; empty: the one that a client comes in by
	Token     control.Token // empty: anybody may come
	Limit     time.Duration // of a session
	Start     func(context.Context) (Worker, error)
	Log       func(string) // is told of sessions, and why there was none

	// These stand for the function and the constants of their names in tests.
	place               func(ctx context.Context, local, remote net.Addr, open control.Open) (control.Welcome, error)
	handshake, idleTime time.Duration
}

// Spawn is a ServerConfig.Start that starts command on a processor.
func Spawn(command []string, processor int) func(context.Context) (Worker, error) {
	return func(ctx context.Context) (Worker, error) {
		p, err := spawn.Start(ctx, spawn.Config{Command: command, Processor: processor})
		if err != nil {
			return Worker{}, err
		}
		return Worker{Conn: p.Conn, Exited: p.Exited(), Stop: p.Stop}, nil
	}
}

// A Server lends one interface to one client at a time.
type Server struct {
	cfg ServerConfig

	mu    sync.Mutex // guards what follows
	user  string     // address of the client that has the session, empty if there is none
	until time.Time  // when that is over at the latest
}

// NewServer returns a server that has still to serve.
func NewServer(cfg ServerConfig) *Server {
	if cfg.place == nil {
		cfg.place = func(ctx context.Context, local, remote net.Addr, open control.Open) (control.Welcome, error) {
			return place(ctx, cfg.Interface, local, remote, open)
		}
	}
	if cfg.handshake == 0 {
		cfg.handshake = handshakeTime
	}
	if cfg.idleTime == 0 {
		cfg.idleTime = idleTime
	}
	return &Server{cfg: cfg}
}

// keepAlive finds a machine that went away without a word, in some 15 seconds.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 5}

// Listen opens a control port.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	return lc.Listen(ctx, "tcp", addr)
}

// Serve serves all that come to l until ctx is done. It closes l and returns when
// nothing of any session is left.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	slots := make(chan struct{}, maxPending)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		case err != nil:
			// Of one connection, or for want of descriptors: neither is the end.
			s.cfg.Log(fmt.Sprintf("accept: %v", err))
			time.Sleep(10 * time.Millisecond)
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = c.Close() // whoever floods us is owed no word
			continue
		}
		sessions.Go(func() {
			defer func() { <-slots }()
			s.Handle(ctx, c)
		})
	}
}

// Handle serves one connection to its end, and closes it.
func (s *Server) Handle(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	who := c.RemoteAddr().String()
	if err := s.converse(ctx, c, who); err != nil && ctx.Err() == nil {
		s.cfg.Log(fmt.Sprintf("%s: %v", who, err))
	}
	_ = polite{c}.Close() // if it is not yet
}

// A polite connection is closed in such a way that the other end can read what it
// was told last: data that nobody has read would make the kernel cut it off.
type polite struct{ net.Conn }

// Close closes within a bounded time.
func (p polite) Close() error {
	half, ok := p.Conn.(interface{ CloseWrite() error })
	if ok && half.CloseWrite() == nil {
		late := time.AfterFunc(farewellTime, func() { _ = p.Conn.Close() })
		_, _ = io.CopyN(io.Discard, p.Conn, farewellMost)
		late.Stop()
	}
	if err := p.Conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// converse is a session from its greeting to its end.
func (s *Server) converse(ctx context.Context, c net.Conn, who string) error {
	late := time.AfterFunc(s.cfg.handshake, func() { _ = c.Close() })
	defer late.Stop()
	shut := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer shut()
	conn, open, proof, err := s.admit(c)
	if err != nil {
		return err
	}
	late.Stop()
	end, err := s.occupy(who, open.Longest)
	if err != nil {
		return errors.Join(err, refuse(conn, err))
	}
	defer s.vacate()
	w, err := s.cfg.place(ctx, c.LocalAddr(), c.RemoteAddr(), open)
	if err != nil {
		return errors.Join(err, refuse(conn, err))
	}
	w.Proof = proof
	if err := conn.Send(control.Message{Type: control.TypeWelcome, Welcome: &w}); err != nil {
		return err
	}
	shut() // from here on the client is told why
	begun := time.Now()
	s.cfg.Log(fmt.Sprintf("%s: a run on %s begins", who, w.Interface))
	err = (&session{server: s, welcome: w, shared: over(c, w.Interface)}).run(ctx, conn, end)
	s.cfg.Log(fmt.Sprintf("%s: the run has ended after %v", who, time.Since(begun).Round(time.Second)))
	return err
}

// admit greets and lets in who has the token. It returns the proof that we have it.
func (s *Server) admit(c net.Conn) (conn *control.Conn, open control.Open, proof []byte, err error) {
	theirs, err := control.ReceiveGreeting(c, time.Now().Add(handshakeTime))
	if err != nil && !errors.Is(err, control.ErrStranger) {
		return nil, open, nil, err
	}
	if sendErr := control.SendGreeting(c, control.Own()); err == nil {
		err = errors.Join(sendErr, theirs.Check(control.Own()))
	}
	if err != nil {
		return nil, open, nil, err
	}
	conn = control.NewConn(polite{c})
	ch := control.Challenge{Nonce: control.NewNonce(), Token: len(s.cfg.Token) > 0}
	a, err := conn.Call(control.Message{Type: control.TypeChallenge, Challenge: &ch}, handshakeTime)
	if err != nil {
		return nil, open, nil, err
	}
	if a.Type != control.TypeOpen {
		err = fmt.Errorf("%s, want %s", a.Type, control.TypeOpen)
		return nil, open, nil, errors.Join(err, refuse(conn, err))
	}
	open = *a.Open
	if ch.Token {
		if !control.EqualProof(open.Proof, s.cfg.Token.ClientProof(ch.Nonce, open.Nonce)) {
			return nil, open, nil, errors.Join(errToken, refuse(conn, errToken))
		}
		proof = s.cfg.Token.ServerProof(ch.Nonce, open.Nonce)
	}
	return conn, open, proof, nil
}

// busy begins what a client is told that comes while another one is there.
const busy = "busy: "

var errToken = errors.New("wrong token")

// refuse tells the client why not.
func refuse(conn *control.Conn, why error) error {
	return conn.Send(control.Message{Type: control.TypeError, Error: &control.Error{Reason: why.Error()}})
}

// occupy makes a client the one that has the session, and returns when that is over.
func (s *Server) occupy(who string, longest time.Duration) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user != "" {
		return time.Time{}, fmt.Errorf(busy+"a run of %s is going on, for at most %v more", s.user, max(0, time.Until(s.until)).Round(time.Second))
	}
	if longest > s.cfg.Limit {
		return time.Time{}, fmt.Errorf("the run may take %v, this server allows %v: ask for less with -runs, -duration, -paths or -sizes, or serve with a larger -limit",
			longest.Round(time.Second), s.cfg.Limit)
	}
	s.user, s.until = who, time.Now().Add(longest)
	return s.until, nil
}

func (s *Server) vacate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user = ""
}
