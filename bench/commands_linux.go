// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"io"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/check"
)

// systemCommands are those that need Linux.
func systemCommands() []command {
	return []command{
		{"check", "tells what this machine and its interfaces are fit for", "[interface]", func(args []string, stdout, stderr io.Writer) int {
			return runCheck(args, check.System{}, stdout, stderr)
		}},
		{"serve", "is the other end of runs with -peer on another machine", "", interruptible(runServe)},
		{"iperf3-server", "answers an unmodified iperf3 client over AF_XDP", "", interruptible(runIperf3Server)},
		{"iperf3-client", "measures against an unmodified iperf3 server over AF_XDP", "HOST", interruptible(runIperf3Client)},
	}
}

// interruptible makes a command end by the signals that ask for an end.
func interruptible(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) func(args []string, stdout, stderr io.Writer) int {
	return func(args []string, stdout, stderr io.Writer) int {
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
		defer stop()
		return run(ctx, args, stdout, stderr)
	}
}
