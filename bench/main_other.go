// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	if status, ok := runCommand(os.Args[1:], os.Stdout, os.Stderr); ok {
		os.Exit(status)
	}
	fmt.Fprintf(os.Stderr, "bench: AF_XDP is a part of Linux: not supported on %s, only report and compare are\n", runtime.GOOS)
	os.Exit(exitUsage)
}
