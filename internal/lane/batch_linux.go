// SPDX-License-Identifier: MIT

package lane

import "golang.org/x/sys/unix"

// batch is a row of messages for sendmmsg(2) and recvmmsg(2). It owns the headers,
// the addresses and the control messages; the payload is lent for a call.
//
//	hdrs[i] ─┬─> iovs[i] ─> payload
//	         ├─> names[i*nameRoom:]   struct sockaddr_in or sockaddr_in6
//	         └─> ctls[i*room:]        control messages
type batch struct {
	hdrs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []byte
	ctls  []byte
	room  int // bytes of control messages for each message
}

// nameRoom holds a struct sockaddr_in6, rounded up to the alignment of a word.
const nameRoom = 32

// newBatch makes a batch of n messages. room is a multiple of the word size, as
// any sum of unix.CmsgSpace is, so that the kernel finds the control messages
// aligned.
func newBatch(n, room int) batch {
	b := batch{
		hdrs:  make([]unix.Mmsghdr, n),
		iovs:  make([]unix.Iovec, n),
		names: make([]byte, n*nameRoom),
		ctls:  make([]byte, n*room),
		room:  room,
	}
	for i := range b.hdrs {
		h := &b.hdrs[i].Hdr
		h.Iov = &b.iovs[i]
		h.SetIovlen(1)
	}
	return b
}

// lend sets the payload of message i. The kernel takes no base for no bytes.
func (b *batch) lend(i int, payload []byte) {
	var base *byte
	if len(payload) > 0 {
		base = &payload[0]
	}
	b.iovs[i].Base = base
	b.iovs[i].SetLen(len(payload))
}

// forget ends the loan of the payloads of the first n messages.
func (b *batch) forget(n int) {
	for i := range b.iovs[:n] {
		b.iovs[i].Base = nil
	}
}

// name is the room for the address of message i.
func (b *batch) name(i int) []byte { return b.names[i*nameRoom : (i+1)*nameRoom] }

// control is the room for the control messages of message i.
func (b *batch) control(i int) []byte { return b.ctls[i*b.room : (i+1)*b.room] }

// setName says that the address of message i is n bytes long; 0 is none.
func (b *batch) setName(i, n int) {
	h := &b.hdrs[i].Hdr
	h.Name, h.Namelen = nil, uint32(n)
	if n > 0 {
		h.Name = &b.names[i*nameRoom]
	}
}

// setControl says that the control messages of message i are n bytes long.
func (b *batch) setControl(i, n int) {
	h := &b.hdrs[i].Hdr
	h.Control = nil
	if n > 0 {
		h.Control = &b.ctls[i*b.room]
	}
	h.SetControllen(n)
}

// gotName is the address that the kernel wrote for message i.
func (b *batch) gotName(i int) []byte {
	return b.name(i)[:min(b.hdrs[i].Hdr.Namelen, nameRoom)]
}

// gotControl is what the kernel wrote into the control room of message i.
func (b *batch) gotControl(i int) []byte {
	n := min(uint64(b.hdrs[i].Hdr.Controllen), uint64(b.room))
	return b.control(i)[:n]
}
