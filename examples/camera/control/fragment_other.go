// SPDX-License-Identifier: MIT

//go:build !linux

package control

import (
	"errors"
	"net"
	"syscall"
)

// Which datagrams came in fragments is not told here: the limit of PacketSize, and
// the camera's not fragmenting, must do.
func tellFragments(*net.UDPConn) error { return nil }

func fragmented([]byte) bool { return false }

// refused is the answer of a host that has nobody at the port.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
