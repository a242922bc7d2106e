// SPDX-License-Identifier: MIT

package path

import (
	"fmt"

	"github.com/xdpath/xdpath/internal/packet"
)

// ipv4Headers is what stands before a payload in a frame: Ethernet, IPv4, UDP.
const ipv4Headers = 42

// newTemplate returns the headers of the datagrams from cfg.Local to cfg.Peer,
// for paths that build frames themselves. The UDP checksum is none, since the
// sockets on the other paths leave theirs to the device.
func newTemplate(cfg Config) (packet.Template, error) {
	src, ok1 := packet.MACFrom(cfg.LocalMAC)
	dst, ok2 := packet.MACFrom(cfg.PeerMAC)
	if !ok1 || !ok2 {
		return packet.Template{}, fmt.Errorf("hardware addresses %v and %v: must be of six bytes", cfg.LocalMAC, cfg.PeerMAC)
	}
	t, err := packet.NewTemplate(packet.Config{SrcMAC: src, DstMAC: dst, Src: cfg.Local, Dst: cfg.Peer, Checksum: packet.Omit})
	if err != nil {
		return packet.Template{}, fmt.Errorf("make headers: %w", err)
	}
	return t, nil
}

// A parser finds the payload in received frames.
type parser struct {
	local uint16 // port
	more  uint16 // ports that follow it and are local, too
	udp   packet.UDP
}

// payload returns the payload of a datagram for a local port, and false for
// any other frame.
func (p *parser) payload(frame []byte) ([]byte, bool) {
	if p.udp.Decode(frame, len(frame)) != packet.OK || p.udp.Dst.Port()-p.local > p.more {
		return nil, false
	}
	return p.udp.Payload(frame), true
}

// copyMode names how frames get between the program and the driver.
func copyMode(zeroCopy bool) string {
	if zeroCopy {
		return "zero-copy"
	}
	return "copy"
}
