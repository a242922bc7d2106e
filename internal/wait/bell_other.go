// SPDX-License-Identifier: MIT

//go:build !linux

package wait

import (
	"errors"
	"time"
)

type bell struct{}

func newBell() (bell, error)                   { return bell{}, errors.ErrUnsupported }
func (*bell) ring()                            {}
func (*bell) close()                           {}
func (*bell) sleep(time.Duration, []int) error { return errors.ErrUnsupported }
