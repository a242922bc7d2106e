// SPDX-License-Identifier: MIT

package lane

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file makes the system calls that golang.org/x/sys has no call for; nothing
// else in the package needs unsafe.

// sendmmsg sends messages and returns how many the kernel took, at least one if
// the error is nil. An error is about the first: the kernel keeps quiet about one
// that follows datagrams it took (__sys_sendmmsg, net/socket.c).
func sendmmsg(fd int, hdrs []unix.Mmsghdr) (int, error) {
	return mmsg(unix.SYS_SENDMMSG, fd, hdrs, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// recvmmsg receives up to len(hdrs) messages. With MSG_TRUNC the lengths are those
// of the datagrams, even where they did not fit.
func recvmmsg(fd int, hdrs []unix.Mmsghdr) (int, error) {
	return mmsg(unix.SYS_RECVMMSG, fd, hdrs, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
}

// mmsg repeats a call that a signal interrupted: Go's scheduler sends those. The
// headers lie on the heap and point to Go memory by typed pointers only, so the
// collector keeps what the kernel is told of. No time limit is passed, so that
// the call is the same on 32-bit machines with either kind of time.
func mmsg(trap uintptr, fd int, hdrs []unix.Mmsghdr, flags int) (int, error) {
	if len(hdrs) == 0 {
		return 0, nil
	}
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

// Of the values that SO_MEMINFO gives (include/uapi/linux/sock_diag.h).
const (
	memInfoDrops = 8
	memInfoVars  = 9
)

// socketDrops returns how many arrived datagrams the socket has dropped since it
// was opened, modulo 2^32. Linux before 4.12 answers ENOPROTOOPT.
func socketDrops(fd int) (uint32, error) {
	var vars [memInfoVars]uint32
	size := uint32(unsafe.Sizeof(vars))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&vars)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return vars[memInfoDrops], nil
}
