// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "bench: AF_XDP is a part of Linux: not supported on %s\n", runtime.GOOS)
	os.Exit(2)
}
