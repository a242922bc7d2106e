// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
)

// listen opens the control port on one interface: for its own address and for
// broadcasts, which is how viewers look for cameras.
func listen(ctx context.Context, iface string, port uint16) (*net.UDPConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return option(c, func(fd int) error {
			return os.NewSyscallError("SO_BINDTODEVICE", syscall.SetsockoptString(fd, syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, iface))
		})
	}}
	c, err := lc.ListenPacket(ctx, "udp4", fmt.Sprintf("0.0.0.0:%d", port))
	if err != nil {
		return nil, fmt.Errorf("device: control on %s: %w", iface, err)
	}
	return c.(*net.UDPConn), nil
}

// dontFragment makes a socket refuse what would have to be fragmented.
func dontFragment(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return option(raw, func(fd int) error {
		return os.NewSyscallError("IP_MTU_DISCOVER", syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, syscall.IP_PMTUDISC_DO))
	})
}

func option(c syscall.RawConn, set func(fd int) error) (err error) {
	if e := c.Control(func(fd uintptr) { err = set(int(fd)) }); e != nil {
		return e
	}
	return err
}
