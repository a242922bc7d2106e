// SPDX-License-Identifier: MIT

//go:build !linux

package udp

import (
	"context"
	"errors"
	"fmt"
)

// Listen opens a UDP port on an interface, which needs Linux.
func Listen(context.Context, Config) (*Conn, error) {
	return nil, fmt.Errorf("udp: listen: AF_XDP needs Linux: %w", errors.ErrUnsupported)
}

// Dial is Listen for one peer.
func Dial(ctx context.Context, cfg Config) (*Conn, error) { return Listen(ctx, cfg) }

func (c *Conn) filter() error { return nil }
