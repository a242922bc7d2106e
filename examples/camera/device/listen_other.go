// SPDX-License-Identifier: MIT

//go:build !linux

package device

import (
	"context"
	"errors"
	"fmt"
	"net"
)

func listen(context.Context, string, uint16) (*net.UDPConn, error) {
	return nil, fmt.Errorf("device: control on one interface needs Linux: %w", errors.ErrUnsupported)
}

func dontFragment(*net.UDPConn) error { return errors.ErrUnsupported }
