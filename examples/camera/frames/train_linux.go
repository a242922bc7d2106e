// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"

	"golang.org/x/net/ipv4"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// train is the packets of an image as sendmmsg takes them: each a header and a part
// of the image, which the kernel puts together.
type train struct {
	conn    *ipv4.PacketConn
	image   []byte
	ms      []ipv4.Message
	headers [][]byte
	leader  gv.Leader
}

// headerRoom is that of the longest header, a leader.
const headerRoom = 8 + gv.LeaderLen

func newTrain(c *plain, image []byte, to *net.UDPAddr) *train {
	payload := gv.PacketPayload(c.mtu, false)
	t := &train{
		conn: ipv4.NewPacketConn(c.conn), image: image,
		leader: gv.Leader{PayloadType: gv.PayloadImage, PixelFormat: gv.Mono8, Width: uint32(c.p.width), Height: uint32(c.p.height)},
	}
	add := func(part []byte) {
		h := make([]byte, headerRoom)
		t.headers = append(t.headers, h)
		t.ms = append(t.ms, ipv4.Message{Buffers: [][]byte{h, part}, Addr: to})
	}
	add(nil)
	for b := image; len(b) > 0; b = b[min(payload, len(b)):] {
		add(b[:min(payload, len(b))])
	}
	add(nil)
	return t
}

// send sends the image as it is now.
func (t *train) send(block uint64) error {
	last := len(t.ms) - 1
	block = (block-1)%65535 + 1
	for id, h := range t.headers {
		p := gv.Packet{Block: block, Kind: gv.PartPayload, ID: uint32(id)}
		n := 0
		switch id {
		case 0:
			p.Kind = gv.PartLeader
			n = t.leader.Put(h[8:])
		case last:
			p.Kind = gv.PartTrailer
			n = gv.Trailer{PayloadType: gv.PayloadImage, Height: t.leader.Height}.Put(h[8:])
		}
		t.ms[id].Buffers[0] = h[:p.PutHeader(h)+n]
	}
	for ms := t.ms; len(ms) > 0; {
		n, err := t.conn.WriteBatch(ms[:min(many, len(ms))], 0)
		if err != nil {
			return fmt.Errorf("frames: sendmmsg: %w", err)
		}
		ms = ms[n:]
	}
	return nil
}
