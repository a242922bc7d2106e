// SPDX-License-Identifier: MIT

package device

import "github.com/xdpath/xdpath/examples/camera/gv"

// maxHeader is room for the header of a packet and all of a leader.
const maxHeader = 20 + gv.LeaderLen

// trailer is the number of the image's last packet.
func (m *image) trailer() uint32 { return m.packets + 1 }

// packet writes what packet id of the image has in front of the image's bytes to
// room, and tells which bytes they are: none in a leader and a trailer, which are
// header alone.
func (m *image) packet(id uint32, status gv.Status, room []byte) (header, off, n int) {
	p := gv.Packet{Status: status, Block: m.block, ID: id, Extended: m.extended}
	switch {
	case id == 0:
		p.Kind = gv.PartLeader
		k := p.PutHeader(room)
		return k + m.leader.Put(room[k:]), m.off, 0
	case id == m.trailer():
		p.Kind = gv.PartTrailer
		k := p.PutHeader(room)
		return k + gv.Trailer{PayloadType: gv.PayloadImage, Height: m.leader.Height}.Put(room[k:]), m.off, 0
	}
	p.Kind = gv.PartPayload
	at := int(id-1) * m.payload
	return p.PutHeader(room), m.off + at, min(m.payload, m.len-at)
}
