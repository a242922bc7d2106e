// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit statuses.
const (
	exitOK          = 0
	exitBroken      = 1 // of compare: something is worse
	exitUsage       = 2
	exitInterrupted = 130
)

// A usageError is one that another command line, or another file, would mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// status is the exit status for how a command ended, which it tells.
func status(err error, stderr io.Writer) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usageError{}):
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	default:
		fmt.Fprintln(stderr, "bench:", err)
		return exitBroken
	}
}
