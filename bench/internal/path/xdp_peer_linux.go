// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// An xdpPeer asks in reserved frames and answers in the frames that the requests
// came in, which takes the headers that this file makes and turns itself.
type xdpPeer struct {
	*xdpReceiver
	headers packet.Template
	length  int           // of a frame
	out, in [1]umem.Frame // in is held or not, as xdpReceiver says
	armed   bool          // the socket has a deadline that has not passed
}

func openXDPPeer(cfg Config) (*xdpPeer, error) {
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	r, err := openXDPDirected(cfg, xsk.Both)
	if err != nil {
		return nil, err
	}
	r.info.Batch = 1
	return &xdpPeer{xdpReceiver: r, headers: headers, length: headers.Len() + cfg.Size}, nil
}

// Request reserves a frame and lends the part after the headers.
func (p *xdpPeer) Request() ([]byte, error) {
	if err := p.release(); err != nil {
		return nil, err
	}
	n, err := p.socket.Reserve(p.out[:])
	if err == nil && n == 0 {
		err = errors.New("no frame is free though nothing is under way")
	}
	if err != nil {
		return nil, err
	}
	p.out[0] = p.out[0].WithLen(p.length)
	b, err := p.area.Bytes(p.out[0])
	if err != nil {
		return nil, err
	}
	return b[p.headers.Len():], nil
}

// Send writes the headers and sends the frame.
func (p *xdpPeer) Send() error {
	b, err := p.area.Bytes(p.out[0])
	if err != nil {
		return err
	}
	p.headers.Put(b, b[p.headers.Len():])
	return p.transmit()
}

func (p *xdpPeer) transmit() error {
	n, err := p.socket.Send(p.out[:])
	if err == nil && n == 0 {
		err = errTXRing
	}
	if err != nil {
		return err
	}
	if _, err = p.socket.Flush(); errors.Is(err, xsk.ErrLost) {
		err = nil // the counters tell
	}
	return err
}

// Receive takes one frame. As for connPeer, a deadline stays until it has passed.
func (p *xdpPeer) Receive(until time.Time) ([]byte, error) {
	if err := p.release(); err != nil {
		return nil, err
	}
	if !p.armed {
		p.socket.SetReceiveDeadline(until)
		p.armed = true
	}
	n, err := p.socket.ReceiveContext(context.Background(), p.in[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.armed, err = false, nil
	}
	if n == 0 || err != nil {
		return nil, err
	}
	p.held = p.in[:]
	b, err := p.area.Bytes(p.in[0])
	if err != nil {
		return nil, err
	}
	payload, ok := p.parser.payload(b)
	if !ok {
		return nil, nil
	}
	return payload, nil
}

// Reply turns the frame round where it lies.
func (p *xdpPeer) Reply() error {
	f := p.in[0]
	b, err := p.area.Bytes(f)
	if err != nil {
		return err
	}
	n := p.parser.udp.Reply(packet.ReplyConfig{Checksum: packet.Omit}, b[:p.parser.udp.Offset+p.parser.udp.Length])
	if n == 0 {
		return errors.New("the request cannot be answered")
	}
	p.held, p.out[0] = nil, f.WithLen(n)
	return p.transmit()
}

func (p *xdpPeer) release() error {
	if len(p.held) == 0 {
		return nil
	}
	p.held = nil
	return p.socket.Release(p.in[:])
}
