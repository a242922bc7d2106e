// SPDX-License-Identifier: MIT

package iperf3

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent is what this process has used so far, zero if the kernel does not tell.
func spent() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	return usage{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}
}
