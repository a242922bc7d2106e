// SPDX-License-Identifier: MIT

package wait

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bell is an eventfd that stands beside the descriptors of a wait, and the list
// of them for poll(2).
type bell struct {
	fd    int
	polls []unix.PollFd
	limit unix.Timespec // here, like drain, so that a wait allocates nothing
	drain [8]byte
}

func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return bell{fd: -1}, os.NewSyscallError("eventfd", err)
	}
	return bell{fd: fd}, nil
}

// one is what is written to an eventfd to make it readable; its value does not
// matter, so its byte order does not either.
var one = []byte{1, 1, 1, 1, 1, 1, 1, 0}

// ring ends the wait, or the next one. The set's lock is held.
func (b *bell) ring() {
	if b.fd >= 0 {
		// EAGAIN: it rings already.
		_, _ = unix.Write(b.fd, one)
	}
}

// close takes the bell away. The set's lock is held.
func (b *bell) close() {
	unix.Close(b.fd)
	b.fd = -1
}

// sleep waits until one of fds can be read, the bell rings or limit has passed.
func (b *bell) sleep(limit time.Duration, fds []int) error {
	b.polls = append(b.polls[:0], unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN})
	for _, fd := range fds {
		b.polls = append(b.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	var timeout *unix.Timespec
	if limit < Forever {
		b.limit = unix.NsecToTimespec(int64(max(limit, 0)))
		timeout = &b.limit
	}
	_, err := unix.Ppoll(b.polls, timeout, nil)
	if err == unix.EINTR {
		return nil // the caller looks again, and the deadline is reckoned anew
	}
	if err != nil {
		return os.NewSyscallError("ppoll", err)
	}
	if b.polls[0].Revents != 0 {
		_, _ = unix.Read(b.fd, b.drain[:])
	}
	return nil
}
