// SPDX-License-Identifier: MIT

package control

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ipRecvFragSize is IP_RECVFRAGSIZE of linux/in.h: with each datagram that was put
// together of fragments, the size of the largest is told.
const ipRecvFragSize = 25

// tellFragments has a socket tell which datagrams came in fragments.
func tellFragments(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	var e error
	err = raw.Control(func(fd uintptr) { e = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipRecvFragSize, 1) })
	if err = errors.Join(err, e); err != nil {
		return fmt.Errorf("control: IP_RECVFRAGSIZE: %w", err)
	}
	return nil
}

// fragmented reads what the kernel told of a datagram.
func fragmented(oob []byte) bool {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return false
	}
	for _, m := range messages {
		if m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == ipRecvFragSize {
			return true
		}
	}
	return false
}

// refused is the answer of a host that has nobody at the port.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
