// SPDX-License-Identifier: MIT

// Package sys makes the system calls of the bench that golang.org/x/sys has no
// call for. It is the one place of the bench that imports unsafe.
package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr of sendmmsg(2): Go pads it as C does.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32 // written by the kernel: bytes sent or received
}

// A Batch is a row of messages for sendmmsg and recvmmsg, one buffer each. It
// owns the headers, not the buffers, which it keeps alive. Nothing is allocated
// after NewBatch.
//
// It is for one goroutine.
type Batch struct {
	hdrs     []mmsghdr
	iovs     []unix.Iovec
	controls [][]byte
}

// NewBatch returns a batch over bufs, of which none is empty. Each message gets
// control bytes of room for what the kernel says about it, if that is not 0.
func NewBatch(bufs [][]byte, control int) *Batch {
	b := &Batch{hdrs: make([]mmsghdr, len(bufs)), iovs: make([]unix.Iovec, len(bufs))}
	if control > 0 {
		b.controls = make([][]byte, len(bufs))
	}
	for i := range bufs {
		b.iovs[i].Base = &bufs[i][0]
		b.iovs[i].SetLen(len(bufs[i]))
		h := &b.hdrs[i].hdr
		h.Iov = &b.iovs[i]
		h.SetIovlen(1)
		if control > 0 {
			b.controls[i] = make([]byte, control)
			h.Control = &b.controls[i][0]
		}
	}
	return b
}

// NewPairs returns a batch of messages of two buffers each for sending: one of heads,
// and one that SetBody names, which the batch keeps alive until it names another.
func NewPairs(heads [][]byte) *Batch {
	b := &Batch{hdrs: make([]mmsghdr, len(heads)), iovs: make([]unix.Iovec, 2*len(heads))}
	for i := range heads {
		pair := b.iovs[2*i : 2*i+2]
		pair[0].Base = &heads[i][0]
		pair[0].SetLen(len(heads[i]))
		b.hdrs[i].hdr.Iov = &pair[0]
		b.hdrs[i].hdr.SetIovlen(len(pair))
	}
	return b
}

// SetBody makes body, which is not empty, the second buffer of message i of pairs.
func (b *Batch) SetBody(i int, body []byte) {
	b.iovs[2*i+1].Base = &body[0]
	b.iovs[2*i+1].SetLen(len(body))
}

// Send sends messages first to last-1 in one call and returns how many of them
// the kernel took, at least one if the error is nil.
func (b *Batch) Send(fd, first, last, flags int) (int, error) {
	return b.call(unix.SYS_SENDMMSG, fd, first, last, flags)
}

// Receive receives up to n messages in one call and returns how many came.
func (b *Batch) Receive(fd, n, flags int) (int, error) {
	for i := range b.controls[:min(n, len(b.controls))] {
		b.hdrs[i].hdr.SetControllen(len(b.controls[i]))
	}
	return b.call(unix.SYS_RECVMMSG, fd, 0, n, flags)
}

// call repeats a call that a signal interrupted: Go's scheduler sends those.
// The headers point to Go memory only by typed pointers, and lie on the heap,
// so the collector sees and keeps what the kernel is told of.
func (b *Batch) call(trap uintptr, fd, first, last, flags int) (int, error) {
	hdrs := b.hdrs[first:last]
	for {
		n, _, errno := unix.Syscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(hdrs))),
			uintptr(len(hdrs)), uintptr(flags), 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Len is the length of received message i, at most that of its buffer.
func (b *Batch) Len(i int) int { return int(b.hdrs[i].len) }

// Truncated tells whether received message i was longer than its buffer.
func (b *Batch) Truncated(i int) bool { return b.hdrs[i].hdr.Flags&unix.MSG_TRUNC != 0 }

// Control returns what the kernel said about received message i, valid until
// the next Receive.
func (b *Batch) Control(i int) []byte {
	if b.controls == nil {
		return nil
	}
	return b.controls[i][:min(uint64(b.hdrs[i].hdr.Controllen), uint64(len(b.controls[i])))]
}

// skMeminfoVars is SK_MEMINFO_VARS, the number of values that SO_MEMINFO gives.
const (
	skMeminfoDrops = 8
	skMeminfoVars  = 9
)

// SocketDrops returns how many arrived packets the socket fd has dropped since
// it was opened, mostly for want of room in its receive buffer. Linux 4.12 and
// later know it (SO_MEMINFO).
func SocketDrops(fd int) (uint32, error) {
	var vars [skMeminfoVars]uint32
	size := uint32(unsafe.Sizeof(vars))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&vars)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return vars[skMeminfoDrops], nil
}
