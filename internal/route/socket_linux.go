// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is an rtnetlink socket of the namespace in which it was opened. Raw, not of
// package netlink: that neither lets a queue be emptied without waiting, which an
// overrun needs, nor spares an allocation of 64 KiB for each answer.
type socket struct {
	file *os.File // owns the descriptor; its Close ends a wait
	raw  syscall.RawConn
	fd   int // for options only
}

// openSocket opens a close-on-exec socket in the namespace of the calling thread.
func openSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket (a sandbox may forbid AF_NETLINK): %w", err)
	}
	s := &socket{file: os.NewFile(uintptr(fd), "rtnetlink"), fd: fd}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		s.close()
		return nil, fmt.Errorf("bind netlink socket: %w", err)
	}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *socket) close() { _ = s.file.Close() }

// join subscribes to the notifications of a group.
func (s *socket) join(group int) error {
	return unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group)
}

// setBuffer asks for room for notifications, in bytes, beyond the limit of the
// machine if the rights suffice.
func (s *socket) setBuffer(size int) {
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size) != nil {
		// Less room makes overruns more likely, nothing worse.
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, size)
	}
}

// send hands messages to the kernel, which handles them before send returns.
func (s *socket) send(b []byte) (err error) {
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	waitErr := s.raw.Write(func(fd uintptr) bool {
		for {
			err = unix.Sendto(int(fd), b, 0, kernel)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	if waitErr != nil {
		return waitErr
	}
	return err
}

// receive reads one datagram of messages into b and returns the part that was
// filled. Unless it shall wait, the error is EAGAIN if there is none. What does not
// fit into b is EMSGSIZE and lost.
func (s *socket) receive(b []byte, wait bool) (_ []byte, err error) {
	var n int
	waitErr := s.raw.Read(func(fd uintptr) bool {
		for {
			var from unix.Sockaddr
			n, from, err = unix.Recvfrom(int(fd), b, unix.MSG_TRUNC)
			switch {
			case err == unix.EINTR:
			case err == unix.EAGAIN:
				return !wait
			case err != nil || fromKernel(from):
				return true
			}
		}
	})
	switch {
	case waitErr != nil:
		return nil, waitErr
	case err != nil:
		return nil, err
	case n > len(b):
		return nil, fmt.Errorf("netlink datagram of %d bytes, room for %d: %w", n, len(b), unix.EMSGSIZE)
	}
	return b[:n], nil
}

// receiveWithin is receive that waits no longer than that; the error then is
// os.ErrDeadlineExceeded.
func (s *socket) receiveWithin(b []byte, limit time.Duration) ([]byte, error) {
	if err := s.file.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	b, err := s.receive(b, true)
	// A deadline that has passed would end every receive to come.
	return b, errors.Join(err, s.file.SetReadDeadline(time.Time{}))
}

// fromKernel tells the kernel's messages from those of other processes: anybody may
// send to a netlink socket.
func fromKernel(from unix.Sockaddr) bool {
	sa, ok := from.(*unix.SockaddrNetlink)
	return ok && sa.Pid == 0
}
