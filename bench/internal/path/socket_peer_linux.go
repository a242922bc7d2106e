// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// socketSpinPath is a socket that is asked again and again instead of waited at:
// what spinning alone is worth.
func socketSpinPath() Path {
	return Path{Name: "socket-spin", Fragments: true, Peer: func(cfg Config) (Peer, error) {
		s, err := openSocketPeer(cfg)
		if err != nil {
			return nil, err
		}
		if err := unix.SetNonblock(s.fd, true); err != nil {
			return nil, errors.Join(fmt.Errorf("make UDP socket non-blocking: %w", err), s.Close())
		}
		return &spinPeer{s}, nil
	}}
}

// A socketPeer is one send call and one receive call a datagram.
type socketPeer struct {
	*udpSocket
	out, in []byte
	n       int // bytes of in that were received
}

func openSocketPeer(cfg Config) (*socketPeer, error) {
	s, err := openUDP(cfg)
	if err != nil {
		return nil, err
	}
	// One byte more than a payload has, to see one that is too long.
	return &socketPeer{udpSocket: s, out: make([]byte, cfg.Size), in: make([]byte, cfg.Size+1)}, nil
}

// Request lends the one buffer.
func (s *socketPeer) Request() ([]byte, error) { return s.out, nil }

// Send writes it.
func (s *socketPeer) Send() error { return s.write(s.out) }

// Receive blocks for as long as the socket's own limit says, which is less than
// any wait of a round trip.
func (s *socketPeer) Receive(time.Time) ([]byte, error) {
	n, err := unix.Read(s.fd, s.in)
	if err != nil {
		if timedOut(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("receive: %w", err)
	}
	s.n = n
	return s.in[:n], nil
}

// Reply writes what was read.
func (s *socketPeer) Reply() error { return s.write(s.in[:s.n]) }

// A spinPeer never sleeps.
type spinPeer struct{ *socketPeer }

// spinCalls is how many calls lie between two looks at the clock.
const spinCalls = 16

// Receive calls again and again.
func (s *spinPeer) Receive(until time.Time) ([]byte, error) {
	for i := 1; ; i++ {
		b, err := s.socketPeer.Receive(until)
		if b != nil || err != nil || i%spinCalls == 0 && !time.Now().Before(until) {
			return b, err
		}
	}
}
