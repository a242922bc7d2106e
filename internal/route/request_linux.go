// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// answerWait bounds the wait for an answer that is not there at once.
	answerWait = 10 * time.Second
	// dumpTries is how often a table is asked for again that changed while it was
	// being read.
	dumpTries = 10
	// dumpSize and answerSize hold the largest datagrams, in bytes: rtnetlink
	// fills up to 32 KiB at once with a table; one route takes a few hundred.
	dumpSize   = 1 << 16
	answerSize = 1 << 13
)

// errInterrupted says that a table changed while it was being read.
var errInterrupted = errors.New("the table changed each time it was read")

// requester asks the kernel, one request at a time. Safe for concurrent use.
type requester struct {
	mu     sync.Mutex // held for the length of a request
	socket *socket
	seq    uint32
	in     []byte // the datagram that is being read
	out    []byte // the request
	closed bool
}

// newRequester opens a socket in the namespace of the calling thread; size is that
// of the largest answer.
func newRequester(size int) (*requester, error) {
	s, err := openSocket()
	if err != nil {
		return nil, err
	}
	return &requester{socket: s, in: make([]byte, size)}, nil
}

// close waits for the request that is under way. Idempotent.
func (r *requester) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.socket.close()
	}
}

// do sends a request and calls f with the body of each answer, which is valid only
// within f. Errors of the kernel are its errnos. A request that is answered by an
// acknowledgement alone needs NLM_F_ACK among its flags.
func (r *requester) do(typ, flags uint16, body []byte, f func(body []byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	r.seq++
	b := binary.NativeEndian.AppendUint32(r.out[:0], uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = binary.NativeEndian.AppendUint16(b, flags|unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, r.seq)
	b = binary.NativeEndian.AppendUint32(b, 0) // the kernel knows who asks
	r.out = append(b, body...)
	if err := r.socket.send(r.out); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return r.answer(f)
}

// answer reads until the request with the present number is answered.
func (r *requester) answer(f func(body []byte) error) error {
	var ex exchange
	for !ex.done {
		b, err := r.read()
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		err = messages(b, func(h header, body []byte) error {
			if h.seq != r.seq || ex.done {
				return nil // late, to a request that was given up
			}
			ex.take(h, body, f)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if ex.err == nil && ex.interrupted {
		return errInterrupted
	}
	return ex.err
}

// read reads the next datagram of an answer. It is there already, as the kernel
// answers before send returns; otherwise the wait for it is bounded.
func (r *requester) read() ([]byte, error) {
	b, err := r.socket.receive(r.in, false)
	if err != unix.EAGAIN {
		return b, err
	}
	return r.socket.receiveWithin(r.in, answerWait)
}

// exchange is how far the answer to one request has come. It is read to its end
// after an error too: the kernel starts no second table on a socket before.
type exchange struct {
	done, interrupted bool
	err               error // the first one
}

// take takes the next message of the answer.
func (ex *exchange) take(h header, body []byte, f func(body []byte) error) {
	ex.interrupted = ex.interrupted || h.flags&unix.NLM_F_DUMP_INTR != 0
	var err error
	switch h.typ {
	case unix.NLMSG_NOOP:
	case unix.NLMSG_ERROR, unix.NLMSG_DONE:
		ex.done = true
		if len(body) >= 4 { // the end of a table may come without a code
			err = errno(int32(binary.NativeEndian.Uint32(body)))
		}
	default:
		ex.done = h.flags&unix.NLM_F_MULTI == 0
		err = f(body)
	}
	if ex.err == nil {
		ex.err = err
	}
}

// errno is the error of a code as netlink has it: negative, or no error.
func errno(code int32) error {
	if code >= 0 {
		return nil
	}
	return unix.Errno(-code)
}

// list reads a whole table into a map that add fills, anew if the table changes
// meanwhile.
func list[K comparable, V any](r *requester, typ uint16, body []byte, add func(m map[K]V, body []byte) error) (map[K]V, error) {
	for try := 1; ; try++ {
		m := make(map[K]V)
		err := r.do(typ, unix.NLM_F_DUMP, body, func(b []byte) error { return add(m, b) })
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, errInterrupted) || try == dumpTries {
			return nil, err
		}
	}
}
