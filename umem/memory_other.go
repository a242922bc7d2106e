// SPDX-License-Identifier: MIT

//go:build !linux

package umem

import "errors"

type memory struct {
	bytes []byte
	huge  bool
	note  string
	unmap func() error
}

func mapMemory(int, HugePages) (memory, error) { return memory{}, errors.ErrUnsupported }
