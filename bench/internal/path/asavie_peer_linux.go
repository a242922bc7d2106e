// SPDX-License-Identifier: MIT

//go:build linux && !386

package path

import (
	"errors"
	"fmt"
	"time"

	"github.com/asavie/xdp"

	"github.com/xdpath/xdpath/internal/packet"
)

// An asaviePeer asks and answers with the library's defaults: rings of 64, since
// larger ones make its search for free chunks longer.
type asaviePeer struct {
	*asavieReceiver
	headers packet.Template
	length  int         // of a frame
	out     [1]xdp.Desc // to send
	in      xdp.Desc    // received last
}

func openAsaviePeer(cfg Config) (*asaviePeer, error) {
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	r, err := openAsavieReceiver(cfg, xdp.DefaultSocketOptions)
	if err != nil {
		return nil, err
	}
	r.info.Batch = 1
	return &asaviePeer{asavieReceiver: r, headers: headers, length: headers.Len() + cfg.Size}, nil
}

// Request takes a free chunk.
func (p *asaviePeer) Request() ([]byte, error) {
	if copy(p.out[:], p.xsk.GetDescs(1)) == 0 {
		return nil, errors.New("no chunk is free though nothing is under way")
	}
	p.out[0].Len = uint32(p.length)
	return p.xsk.GetFrame(p.out[0])[p.headers.Len():], nil
}

// Send writes the headers and sends the frame.
func (p *asaviePeer) Send() error {
	b := p.xsk.GetFrame(p.out[0])
	p.headers.Put(b, b[p.headers.Len():])
	return p.transmit()
}

func (p *asaviePeer) transmit() error {
	if p.xsk.Transmit(p.out[:]) == 0 {
		return errTXRing
	}
	return nil
}

// Receive runs the library's loop: fill, poll, receive. While a frame is under
// way, poll returns at once to tell of its completion.
func (p *asaviePeer) Receive(until time.Time) ([]byte, error) {
	for first := true; first || time.Now().Before(until); first = false {
		p.fill()
		n, _, err := p.xsk.Poll(int(receiveWait.Milliseconds()))
		if err != nil {
			return nil, fmt.Errorf("poll asavie socket: %w", err)
		}
		for _, d := range p.xsk.Receive(min(n, 1)) {
			if b, ok := p.parser.payload(p.xsk.GetFrame(d)); ok {
				p.in = d
				return b, nil
			}
		}
	}
	return nil, nil
}

// Reply turns the frame round where it lies: it is not filled again before the
// next Receive, and not while it is under way.
func (p *asaviePeer) Reply() error {
	u := &p.parser.udp
	n := u.Reply(packet.ReplyConfig{Checksum: packet.Omit}, p.xsk.GetFrame(p.in)[:u.Offset+u.Length])
	if n == 0 {
		return errors.New("the request cannot be answered")
	}
	p.out[0] = p.in
	p.out[0].Len = uint32(n)
	return p.transmit()
}
