// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/worker"
)

// workerArg makes the program a worker of another one of itself. It is not for
// people: a worker finds its stream on a descriptor that its starter opened.
const workerArg = "worker"

// workerProcs is GOMAXPROCS of a worker. It runs on one processor only, but
// with one P the runtime's monitor would take it away from the goroutine in
// every longer system call, and the goroutine would have to queue for it again.
const workerProcs = 2

func runWorker() int {
	runtime.GOMAXPROCS(workerProcs)
	if err := serveWorker(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: worker:", err)
		return exitBroken
	}
	return exitOK
}

func serveWorker() error {
	file := os.NewFile(referee.WorkerFD, "control")
	conn, err := net.FileConn(file) // a copy of the descriptor
	if err != nil {
		return fmt.Errorf("descriptor %d is no stream (workers are started by bench itself): %w", referee.WorkerFD, err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	facts, err := worker.ReadFacts()
	if err != nil {
		return err
	}
	return worker.Serve(control.NewConn(conn), worker.Config{Facts: facts, Open: worker.OpenPath, Meter: worker.ReadGauges})
}
