// SPDX-License-Identifier: MIT

//go:build !linux

package intake

import (
	"errors"
	"net"
)

// SetReceiveBuffer has the system hold so many bytes for a socket.
func SetReceiveBuffer(conn *net.UDPConn, bytes int) error { return conn.SetReadBuffer(bytes) }

func receiveBuffer(*net.UDPConn) (int, error) { return 0, errors.ErrUnsupported }

// What a socket has dropped is not told here: it counts as lost on the wire.
func socketDrops(uint16) (uint64, error) { return 0, nil }
