// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Server answers clients, one at a time.
type Server struct {
	Port    Port
	Pacer   func(rate float64) (Pacer, error)
	Longest time.Duration // of a test, 0 for an hour
	// Report, if set, is told of each test that ended, and of clients that were not
	// served. It is called by one goroutine at a time.
	Report func(Outcome)

	patience time.Duration // of the control connection; tests shorten it
	busy     chan struct{} // full while a test runs
	callers  chan struct{} // room for clients, served and turned away
}

// Outcome is what came of a client.
type Outcome struct {
	Peer   netip.AddrPort `json:"peer"` // of the control connection
	Params Params         `json:"params"`
	Sends  bool           `json:"sends"` // this side was the sender
	Ours   Results        `json:"ours"`  // of this side, and theirs of the other
	Theirs Results        `json:"theirs"`
	Err    error          `json:"-"` // why it was not served to the end
}

const (
	longest      = time.Hour
	grace        = 10 * time.Second // beyond the time that a client asked for
	maxCallers   = 16
	lastMoment   = 250 * time.Millisecond // for a test that is over to the end of its books
	denialPeriod = time.Second
)

// Serve answers clients until ctx is done or once, if once is set, a client was
// served. It closes the listener, not the port.
func (s *Server) Serve(ctx context.Context, l net.Listener, once bool) error {
	s.init()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var tests sync.WaitGroup
	defer tests.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			closeIf(c)
			return nil
		}
		if err != nil {
			_ = l.Close()
			return fmt.Errorf("iperf3: accept: %w", err)
		}
		select {
		case s.callers <- struct{}{}:
			tests.Go(func() {
				defer func() { <-s.callers }()
				if s.answer(ctx, c) && once {
					cancel()
				}
			})
		default: // too many to be polite
			_ = c.Close()
		}
	}
}

// init puts in what is not set.
func (s *Server) init() {
	if s.Longest == 0 {
		s.Longest = longest
	}
	if s.patience == 0 {
		s.patience = patience
	}
	if s.busy == nil {
		s.busy, s.callers = make(chan struct{}, 1), make(chan struct{}, maxCallers)
	}
}

// answer serves a client, or turns it away if another one's test goes on.
func (s *Server) answer(ctx context.Context, c net.Conn) (served bool) {
	select {
	case s.busy <- struct{}{}:
	case <-time.After(lastMoment):
		deny(c)
		return false
	}
	defer func() { <-s.busy }()
	o := s.serve(ctx, c)
	if s.Report != nil {
		s.Report(o)
	}
	return true
}

func closeIf(c net.Conn) {
	if c != nil {
		_ = c.Close()
	}
}

// deny tells a client that there is another one. So that it hears that, what it said
// must be taken before the connection is closed.
func deny(c net.Conn) {
	defer func() { _ = c.Close() }()
	ctl := control{c, denialPeriod}
	_ = ctl.readCookie()
	_ = ctl.tell(AccessDenied)
}

// serve runs one test. The connection ends with it, and with ctx.
func (s *Server) serve(ctx context.Context, c net.Conn) (o Outcome) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	if peer, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		o.Peer = netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
	}
	t := &serverTest{Server: s, ctl: control{c, s.patience}, out: &o}
	if err := t.run(ctx); err != nil {
		var r *refusal
		if errors.As(err, &r) {
			_ = t.ctl.refuse(r.number)
		}
		o.Err = fmt.Errorf("iperf3: client %v: %w", o.Peer, err)
	}
	return o
}

// serverTest is a test on the server's side.
type serverTest struct {
	*Server
	ctl control
	out *Outcome
	session
}

func (t *serverTest) run(ctx context.Context) error {
	if err := t.exchangeParams(); err != nil {
		return err
	}
	receiving, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	joined := make(chan *stream, MaxStreams)
	t.session = session{
		params: t.out.Params, port: t.Port, pacer: t.Pacer, sends: bool(t.out.Params.Reverse),
		joined: func(st *stream) { joined <- st },
	}
	t.out.Sends = t.sends
	go func() { received <- t.port.Run(receiving, t.handle) }()
	defer func() {
		stop()
		<-received
	}()
	if err := t.createStreams(joined, received); err != nil {
		return err
	}
	if err := t.carry(ctx); err != nil {
		return err
	}
	return t.exchangeResults()
}

func (t *serverTest) exchangeParams() error {
	if err := t.ctl.readCookie(); err != nil {
		return fmt.Errorf("cookie: %w", err)
	}
	if err := t.ctl.tell(ParamExchange); err != nil {
		return err
	}
	if err := t.ctl.receive("parameters", &t.out.Params); err != nil {
		return err
	}
	return t.out.Params.validate(t.Longest)
}

// createStreams waits for as many streams as there are to be.
func (t *serverTest) createStreams(joined <-chan *stream, received chan error) error {
	// Only now, so that nothing of a former client's is taken for this one's.
	t.accept(t.out.Peer.Addr())
	if err := t.ctl.tell(CreateStreams); err != nil {
		return err
	}
	timeout := time.After(t.ctl.patience)
	for n := range int(t.params.Parallel) {
		select {
		case <-joined:
		case err := <-received:
			received <- nil // for who waits for it later
			return fmt.Errorf("receive: %w", err)
		case <-timeout:
			return fmt.Errorf("%d of %v streams came within %v", n, t.params.Parallel, t.ctl.patience)
		}
	}
	return nil
}

// carry runs the test until the client ends it.
func (t *serverTest) carry(ctx context.Context) error {
	if err := t.ctl.tell(TestStart); err != nil {
		return err
	}
	t.begin() // first: the client sends as soon as it hears
	if err := t.ctl.tell(TestRunning); err != nil {
		return err
	}
	if t.params.Omit > 0 {
		omit := time.AfterFunc(seconds(t.params.Omit), t.omit)
		defer omit.Stop()
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	if t.sends {
		go func() { sent <- t.send(sending, 0) }()
	} else {
		sent <- nil
	}
	err := t.ctl.expect(TestEnd, time.Now().Add(t.params.duration(t.Longest)+grace))
	t.end()
	stop()
	err = errors.Join(err, <-sent)
	if err == nil && !t.sends {
		t.settle(ctx)
	}
	return err
}

func (t *serverTest) exchangeResults() error {
	if err := t.ctl.tell(ExchangeResults); err != nil {
		return err
	}
	if err := t.ctl.receive("results", &t.out.Theirs); err != nil {
		return err
	}
	t.out.Ours = t.results()
	if err := t.out.Theirs.validate(len(t.streams)); err != nil {
		return err
	}
	if err := t.ctl.send("results", t.out.Ours); err != nil {
		return err
	}
	if err := t.ctl.tell(DisplayResults); err != nil {
		return err
	}
	// Everything is said; a client that hangs up now lacks nothing.
	_ = t.ctl.expect(Done, time.Now().Add(t.ctl.patience))
	return nil
}
