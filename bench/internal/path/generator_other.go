// SPDX-License-Identifier: MIT

//go:build !linux

package path

import (
	"errors"
	"fmt"
)

func openGenerator(Config) (Generator, error) {
	return nil, fmt.Errorf("the generator is Linux only: %w", errors.ErrUnsupported)
}

func openLoaded(cfg Config, open func(Config) (Receiver, error)) (Receiver, error) { return open(cfg) }

func openCrossfire(Config) (Crossfire, error) {
	return nil, fmt.Errorf("the generator is Linux only: %w", errors.ErrUnsupported)
}
