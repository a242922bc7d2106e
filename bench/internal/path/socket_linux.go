// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// socketPath is one send call and one receive call a datagram.
func socketPath() Path {
	return Path{
		Name: "socket", Fragments: true,
		Sender: func(cfg Config) (Sender, error) {
			s, err := openUDP(cfg)
			if err != nil {
				return nil, err
			}
			return &socketSender{udpSocket: s, buf: make([]byte, cfg.Size)}, nil
		},
		Receiver: func(cfg Config) (Receiver, error) {
			s, err := openUDP(cfg)
			if err != nil {
				return nil, err
			}
			// One byte more than a payload has, to see one that is too long.
			return &socketReceiver{udpSocket: s, buf: make([]byte, cfg.Size+1)}, nil
		},
		Peer:   func(cfg Config) (Peer, error) { return openSocketPeer(cfg) },
		Camera: func(cfg Config) (Camera, error) { return openSocketCamera(cfg) },
	}
}

type socketSender struct {
	*udpSocket
	buf []byte
}

func (s *socketSender) Reserve(bufs [][]byte) (int, error) {
	bufs[0] = s.buf
	return 1, nil
}

func (s *socketSender) Send(n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	if err := s.write(s.buf); err != nil {
		return 0, err
	}
	return 1, nil
}

// write sends one datagram.
func (s *udpSocket) write(b []byte) error {
	for {
		_, err := unix.Write(s.fd, b)
		switch {
		case err == nil:
			return nil
		case err != unix.EINTR:
			return fmt.Errorf("send: %w", err)
		}
	}
}

type socketReceiver struct {
	*udpSocket
	buf []byte
}

func (r *socketReceiver) Receive(_ context.Context, views [][]byte) (int, error) {
	n, err := unix.Read(r.fd, r.buf)
	if err != nil {
		if timedOut(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("receive: %w", err)
	}
	views[0] = r.buf[:n]
	return 1, nil
}
