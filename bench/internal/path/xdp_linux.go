// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// xdpPath is AF_XDP by this library, straight on package xsk: what the endpoint
// costs is seen beside it.
func xdpPath() Path {
	return Path{
		Name: "xdp-raw", Rings: true,
		Extra: []Kind{Stream},
		Sender: func(cfg Config) (Sender, error) {
			return openXDPSender(cfg)
		},
		Receiver: func(cfg Config) (Receiver, error) {
			return openXDPReceiver(cfg)
		},
		Peer: func(cfg Config) (Peer, error) {
			return openXDPPeer(cfg)
		},
	}
}

// xdpConfig asks for rings of cfg.Hold entries. What has been received and not
// read is in the RX ring: it must be that large, and the fill ring, too, to
// feed it. Chunks are the smallest that take a whole frame beside the 256 bytes
// that the kernel keeps for itself.
func xdpConfig(cfg Config) (xsk.Config, error) {
	const kernel, least = 256, 2048
	chunk := least
	for chunk-kernel < cfg.Size+ipv4Headers {
		chunk *= 2
	}
	if most := os.Getpagesize(); chunk > most {
		return xsk.Config{}, fmt.Errorf("%d bytes of payload do not fit into one chunk, which has %d bytes at most, %d of them the kernel's", cfg.Size, most, kernel)
	}
	ring := func(own int) uint32 {
		if own > 0 {
			return uint32(own)
		}
		return uint32(cfg.Hold)
	}
	return xsk.Config{
		Interface: cfg.Interface, Queue: cfg.Queue, RxSize: ring(cfg.RX), TxSize: ring(cfg.TX), FillSize: ring(cfg.Fill), ChunkSize: chunk,
	}, nil
}

// An xdpEnd is what both sides have in common.
type xdpEnd struct {
	socket *xsk.Socket
	area   *umem.Area
	frames []umem.Frame // of one batch
	info   Info
}

func openXDP(cfg Config, d xsk.Direction) (*xdpEnd, error) {
	xc, err := xdpConfig(cfg)
	if err != nil {
		return nil, err
	}
	xc.Direction = d
	s, err := xsk.Open(xc)
	if err != nil {
		return nil, err
	}
	got := s.Info()
	send, receive := rooms(s)
	return &xdpEnd{
		socket: s, area: s.Area(), frames: make([]umem.Frame, cfg.Batch),
		info: Info{Mode: copyMode(got.Mode == xsk.ZeroCopy), Batch: cfg.Batch, SendRoom: send, ReceiveRoom: receive, Notes: got.Notes},
	}, nil
}

func (e *xdpEnd) Info() Info { return e.info }

// Counters reads the statistics of the socket.
func (e *xdpEnd) Counters() (loss.Counts, error) {
	st, err := e.socket.Stats()
	if err != nil {
		return nil, err
	}
	return loss.Counts{
		{Place: loss.Send, N: st.TxLost},
		{Place: loss.TXInvalid, N: st.TxInvalid},
		{Place: loss.RXRing, N: st.RxRingFull},
		{Place: loss.FillRing, N: st.RxFillEmpty},
		{Place: loss.RXDropped, N: st.RxTooBig()},
	}, nil
}

// An xdpSender is the sending side.
type xdpSender struct {
	*xdpEnd
	headers packet.Template
	length  int // of a frame
}

func openXDPSender(cfg Config) (*xdpSender, error) {
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	e, err := openXDP(cfg, xsk.TransmitOnly)
	if err != nil {
		return nil, err
	}
	return &xdpSender{xdpEnd: e, headers: headers, length: headers.Len() + cfg.Size}, nil
}

// Reserve gives out the payload part of reserved frames.
func (s *xdpSender) Reserve(bufs [][]byte) (int, error) {
	n, err := s.socket.Reserve(s.frames[:len(bufs)])
	if n == 0 && err == nil {
		n, err = s.wait(len(bufs))
	}
	if err != nil {
		return 0, err
	}
	for i, f := range s.frames[:n] {
		f = f.WithLen(s.length)
		b, err := s.area.Bytes(f)
		if err != nil {
			return 0, err
		}
		s.frames[i], bufs[i] = f, b[s.headers.Put(b, b[s.headers.Len():]):]
	}
	return n, nil
}

// wait waits for frames to come back from the kernel.
func (s *xdpSender) wait(n int) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), receiveWait)
	defer cancel()
	n, err := s.socket.ReserveContext(ctx, s.frames[:n])
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, xsk.ErrLost) {
		err = nil
	}
	return n, err
}

// Send puts the frames into the ring and has the kernel send them, which makes
// room in a ring that is full. What gets lost on the way is in the counters.
func (s *xdpSender) Send(n int) (int, error) {
	sent := 0
	for begun := time.Now(); ; {
		k, err := s.socket.Send(s.frames[sent:n])
		sent += k
		if err != nil {
			return sent, err
		}
		if _, err := s.socket.Flush(); err != nil && !errors.Is(err, xsk.ErrLost) {
			return sent, err
		}
		if sent == n {
			return n, nil
		}
		if time.Since(begun) > sendWait {
			return sent, fmt.Errorf("%d frames did not get into the TX ring within %v", n-sent, sendWait)
		}
	}
}

// Flush implements stream.Sender.
func (s *xdpSender) Flush() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendWait)
	defer cancel()
	err := s.socket.Drain(ctx)
	if err == nil {
		return 0, nil
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, xsk.ErrLost) {
		err = nil
	}
	st, statErr := s.socket.Stats()
	return int(st.TxUsed), errors.Join(err, statErr)
}

// Close closes the socket.
func (s *xdpSender) Close() error { return s.socket.Close() }
