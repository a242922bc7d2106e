// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"

	"github.com/xdpath/xdpath/bench/internal/spawn"
	"github.com/xdpath/xdpath/bench/internal/worker"
)

// workerArg makes the program a worker of another one of itself. It is not for
// people: a worker finds its stream on a descriptor that its starter opened.
const workerArg = "worker"

func runWorker() int {
	if err := worker.ServeFD(spawn.FD); err != nil {
		fmt.Fprintln(os.Stderr, "bench: worker:", err)
		return exitBroken
	}
	return exitOK
}
