// SPDX-License-Identifier: MIT

//go:build !linux

package xsk

import (
	"errors"
	"fmt"
)

// desc has the shape of the entry that Linux has.
type desc struct {
	Addr         uint64
	Len, Options uint32
}

// Open opens an AF_XDP socket, which needs Linux.
func Open(Config) (*Socket, error) {
	return nil, fmt.Errorf("xsk: open: AF_XDP needs Linux: %w", errors.ErrUnsupported)
}
