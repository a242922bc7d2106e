// SPDX-License-Identifier: MIT

//go:build !linux

package bpf

import (
	"errors"
	"fmt"
)

// Attach needs Linux.
func Attach(cfg Config) (*Program, error) {
	if err := cfg.withDefaults().validate(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("bpf: attach: %w", errors.ErrUnsupported)
}

// Adopt needs Linux.
func Adopt(FDs) (*Program, error) {
	return nil, fmt.Errorf("bpf: adopt: %w", errors.ErrUnsupported)
}
