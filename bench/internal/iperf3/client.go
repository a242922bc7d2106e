// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// Client runs one test against a server.
type Client struct {
	Params  Params
	Pacer   func(rate float64) (Pacer, error)
	Longest time.Duration // that it may take if there is no Params.Time, 0 for an hour

	patience time.Duration
}

// Run makes the test over an open control connection, which it closes, and a port of
// which the server's is the peer. An error can come with an Outcome that is not
// whole.
func (c *Client) Run(ctx context.Context, conn net.Conn, port Port, server netip.AddrPort) (Outcome, error) {
	if c.Longest == 0 {
		c.Longest = longest
	}
	if c.patience == 0 {
		c.patience = patience
	}
	if c.Params.Parallel == 0 {
		c.Params.Parallel = 1
	}
	c.Params.UDP = true
	// Each step has its time; all together have one too.
	ctx, cancel := context.WithTimeout(ctx, c.Params.duration(c.Longest)+4*c.patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	t := &clientTest{Client: c, ctl: control{conn, c.patience}, server: server, out: Outcome{Peer: server, Params: c.Params, Sends: !bool(c.Params.Reverse)}}
	t.session = session{params: c.Params, port: port, pacer: c.Pacer, sends: t.out.Sends, joined: func(*stream) {}}
	if err := t.run(ctx); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		t.out.Err = fmt.Errorf("iperf3: server %v: %w", server, err)
	}
	return t.out, t.out.Err
}

// clientTest is a test on the client's side.
type clientTest struct {
	*Client
	ctl    control
	server netip.AddrPort
	out    Outcome
	session
}

func (t *clientTest) run(ctx context.Context) error {
	if err := t.params.validate(t.Longest); err != nil {
		return err
	}
	if t.params.Parallel != 1 {
		// Streams are told apart by our ports, and a Port is one.
		return errors.New("a client has one stream")
	}
	if err := t.exchangeParams(); err != nil {
		return err
	}
	receiving, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	go func() { received <- t.port.Run(receiving, t.handle) }()
	defer func() {
		stop()
		<-received
	}()
	if err := t.createStream(ctx); err != nil {
		return err
	}
	if err := t.carry(ctx); err != nil {
		return err
	}
	return t.exchangeResults()
}

func (t *clientTest) exchangeParams() error {
	cookie, err := newCookie()
	if err != nil {
		return err
	}
	if err := t.ctl.write(cookie); err != nil {
		return fmt.Errorf("send the cookie: %w", err)
	}
	if err := t.ctl.expect(ParamExchange, t.soon()); err != nil {
		return err
	}
	if err := t.ctl.send("parameters", t.params); err != nil {
		return err
	}
	return t.ctl.expect(CreateStreams, t.soon())
}

func (t *clientTest) soon() time.Time { return time.Now().Add(t.ctl.patience) }

// createStream says hello once: a second one would be taken for data.
func (t *clientTest) createStream(ctx context.Context) error {
	t.mu.Lock()
	st, err := t.add(t.server)
	t.mu.Unlock()
	if err != nil {
		return err
	}
	if err := say(st.out, hello); err != nil {
		return err
	}
	if err := t.ctl.expect(TestStart, t.soon()); err != nil {
		return err
	}
	if t.params.Reverse {
		t.begin() // data may come before the state that announces it
	}
	return t.ctl.expect(TestRunning, t.soon())
}

// carry runs the test to its end.
func (t *clientTest) carry(ctx context.Context) error {
	if !bool(t.params.Reverse) {
		t.begin()
	}
	if t.params.Omit > 0 {
		omit := time.AfterFunc(seconds(t.params.Omit), t.omit)
		defer omit.Stop()
	}
	running, stop := context.WithTimeout(ctx, t.params.duration(t.Longest))
	defer stop()
	silent := t.listen(running, stop)
	var err error
	if t.sends {
		err = t.send(running, t.params.limit())
	} else {
		t.waitFor(running)
	}
	t.end()
	stop()
	if heard := <-silent; heard != nil {
		return errors.Join(err, heard)
	}
	if err != nil {
		return err
	}
	if !t.sends {
		t.mu.Lock()
		t.counting = false
		t.mu.Unlock()
	}
	return t.ctl.tell(TestEnd)
}

// listen hears what the server has to say while the test runs, which is nothing unless
// it breaks off: that ends the test. The channel tells when ctx is done.
func (t *clientTest) listen(ctx context.Context, stop func()) <-chan error {
	done := make(chan error, 1)
	if err := t.ctl.c.SetReadDeadline(time.Time{}); err != nil {
		stop()
		done <- err
		return done
	}
	interrupted := make(chan struct{})
	interrupt := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = t.ctl.c.SetReadDeadline(time.Unix(1, 0)) // if the connection is gone, state knows
	})
	go func() {
		s, err := t.ctl.state()
		if !interrupt() {
			<-interrupted // or its deadline would hit what is heard next
		}
		stop()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = nil
		case err == nil:
			err = fmt.Errorf("%q in the middle of the test", s)
		}
		done <- err
	}()
	return done
}

// waitFor waits until ctx is done or as much has come in as was asked for.
func (t *clientTest) waitFor(ctx context.Context) {
	limit := t.params.limit()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.mu.Lock()
		got := t.streams[0].in.Received
		t.mu.Unlock()
		if limit > 0 && got >= limit {
			return
		}
	}
}

func (t *clientTest) exchangeResults() error {
	if err := t.ctl.expect(ExchangeResults, t.soon()); err != nil {
		return err
	}
	t.out.Ours = t.results()
	if err := t.ctl.send("results", t.out.Ours); err != nil {
		return err
	}
	if err := t.ctl.receive("results", &t.out.Theirs); err != nil {
		return err
	}
	if err := t.out.Theirs.validate(len(t.streams)); err != nil {
		return err
	}
	if err := t.ctl.expect(DisplayResults, t.soon()); err != nil {
		return err
	}
	return t.ctl.tell(Done)
}
