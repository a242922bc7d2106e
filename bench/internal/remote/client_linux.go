// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/internal/nic"
)

// welcomeTime bounds the wait for a server that looks for a neighbour.
const welcomeTime = 30 * time.Second

// dial opens a session for a run on an interface and returns what the server said.
// The context bounds the stream, too.
func dial(ctx context.Context, cfg Config, own nic.Link) (*channel, error) {
	addrs, err := ipv4(own)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: handshakeTime, KeepAliveConfig: keepAlive}
	c, err := d.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("no bench serves at %s: %w", cfg.Address, err)
	}
	s := &channel{Conn: control.NewConn(c), shared: over(c, own.Name)}
	s.undo = context.AfterFunc(ctx, func() { _ = c.Close() })
	if err := s.open(c, cfg, addrs); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", cfg.Address, err), s.close())
	}
	if s.hop, err = nextHop(ctx, own, s.welcome.Client, s.welcome.Addr); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// A channel is the client's end of a session.
type channel struct {
	*control.Conn
	welcome control.Welcome
	hop     net.HardwareAddr // towards the server, from the client's interface
	shared  bool             // it goes over that interface
	undo    func() bool      // of what its context would do
}

// close closes the stream. A referee may have done so.
func (s *channel) close() error {
	s.undo()
	if err := s.Conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// open says hello in the client's way.
func (s *channel) open(c net.Conn, cfg Config, addrs []netip.Prefix) error {
	if err := control.SendGreeting(c, control.Own()); err != nil {
		return err
	}
	return s.negotiate(cfg, addrs, c)
}

// negotiate is what follows the client's greeting.
func (s *channel) negotiate(cfg Config, addrs []netip.Prefix, c net.Conn) error {
	theirs, err := control.ReceiveGreeting(c, time.Now().Add(handshakeTime))
	if err != nil {
		return err
	}
	if err := theirs.Check(control.Own()); err != nil {
		return err
	}
	m, err := s.Receive(time.Now().Add(handshakeTime))
	switch {
	case err != nil:
		return err
	case m.Type != control.TypeChallenge:
		return fmt.Errorf("%s, want %s", m.Type, control.TypeChallenge)
	case m.Challenge.Token && len(cfg.Token) == 0:
		return errors.New("the server wants a token: give -token the file that the server has")
	case !m.Challenge.Token && len(cfg.Token) > 0:
		return errors.New("the server asks for no token, so it may not be the one you mean: leave -token away if it is")
	}
	q := control.Open{Nonce: control.NewNonce(), Addrs: addrs[:min(len(addrs), control.MaxAddrs)], Longest: cfg.Longest}
	if m.Challenge.Token {
		q.Proof = cfg.Token.ClientProof(m.Challenge.Nonce, q.Nonce)
	}
	a, err := s.Call(control.Message{Type: control.TypeOpen, Open: &q}, welcomeTime)
	switch {
	case err != nil:
		return err
	case a.Type != control.TypeWelcome:
		return fmt.Errorf("%s, want %s", a.Type, control.TypeWelcome)
	case m.Challenge.Token && !control.EqualProof(a.Welcome.Proof, cfg.Token.ServerProof(m.Challenge.Nonce, q.Nonce)):
		return errors.New("the server does not have the token")
	case !slices.ContainsFunc(addrs, func(p netip.Prefix) bool { return p.Addr() == a.Welcome.Client }):
		return fmt.Errorf("the server takes %s for an address of ours", a.Welcome.Client)
	}
	s.welcome = *a.Welcome
	return nil
}

// isBusy tells whether a server has another session, which may be our own one that it
// has not yet seen the end of.
func isBusy(err error) bool {
	var reason *control.Error
	return errors.As(err, &reason) && strings.HasPrefix(reason.Reason, busy)
}
