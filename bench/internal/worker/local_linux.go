// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/xdpath/xdpath/bench/internal/control"
)

// procs is GOMAXPROCS of a worker. It runs on one processor only, but with one P
// the runtime's monitor would take that away from the goroutine in every longer
// system call, and the goroutine would have to queue for it again.
const procs = 2

// ServeFD serves the controller at the other end of a stream whose descriptor
// this process was started with. The process is nothing but a worker.
func ServeFD(fd uintptr) error {
	runtime.GOMAXPROCS(procs)
	file := os.NewFile(fd, "control")
	conn, err := net.FileConn(file) // a copy of the descriptor
	if err != nil {
		return fmt.Errorf("descriptor %d is no stream (workers are started by the bench itself): %w", fd, err)
	}
	facts, err := ReadFacts()
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, conn.Close())
	}
	return Serve(control.NewConn(conn), Config{Facts: facts, NIC: ReadNIC, Open: OpenPath, Meter: ReadGauges})
}
