// SPDX-License-Identifier: MIT

package intake

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// SetReceiveBuffer has the kernel hold so many bytes for a socket, its bookkeeping
// included: over the system's limit if that is allowed, or as many as it is.
func SetReceiveBuffer(conn *net.UDPConn, bytes int) error {
	var forced error
	err := withFD(conn, func(fd int) {
		// The kernel doubles what it is told, and says so when asked.
		forced = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, bytes/2)
	})
	if err == nil && forced != nil {
		err = conn.SetReadBuffer(bytes / 2)
	}
	if err != nil {
		return fmt.Errorf("intake: receive buffer of %d bytes: %w", bytes, err)
	}
	return nil
}

func receiveBuffer(conn *net.UDPConn) (n int, err error) {
	var e error
	err = withFD(conn, func(fd int) { n, e = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF) })
	return n, errors.Join(err, e)
}

func withFD(conn *net.UDPConn, f func(fd int)) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// socketDrops is how many datagrams the kernel has dropped at the sockets of a port,
// in the network namespace of the calling thread.
func socketDrops(port uint16) (n uint64, err error) {
	f, err := os.Open("/proc/thread-self/net/udp")
	if err != nil {
		return 0, fmt.Errorf("intake: %w", err)
	}
	defer f.Close()
	suffix := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(f)
	lines.Scan() // the titles: sl local_address ... drops
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 13 || !strings.HasSuffix(fields[1], suffix) {
			continue
		}
		drops, err := strconv.ParseUint(fields[12], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("intake: drops of a socket: %w", err)
		}
		n += drops
	}
	return n, lines.Err()
}
