// SPDX-License-Identifier: MIT

package spawn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
)

// FD is the descriptor on which a worker finds its stream.
const FD = 3

// Config says what to start, and where.
type Config struct {
	Command   []string // its first word is the path of the program
	Processor int
	// In runs a function on a thread of its own in the namespace where the worker
	// is to be, and throws the thread away. Nil is this process's namespace.
	In func(f func() error) error
}

// A Process is one worker. Its stream is for one goroutine.
type Process struct {
	Conn *control.Conn

	cmd    *exec.Cmd
	exited chan struct{}
	undo   func() bool // of what ctx would do
}

// Start starts a worker. When ctx is done its stream is closed, which ends it.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.ExtraFiles = []*os.File{theirs} // FD
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{
		Pdeathsig: unix.SIGKILL, // if we are killed
		Setpgid:   true,         // an interrupt at the terminal is for us to act on
	}
	p := &Process{Conn: conn, cmd: cmd, exited: make(chan struct{})}
	in := cfg.In
	if in == nil {
		in = here
	}
	started := make(chan error, 2) // what in says beside what run said
	go func() {
		defer close(p.exited)
		if err := in(func() error { return run(cmd, cfg.Processor, started) }); err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p.undo = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return p, nil
}

// here is the In of this process's own namespace. The thread is never unlocked, and
// so ends with its goroutine: it is tied to a processor.
func here(f func() error) error {
	runtime.LockOSThread()
	return f()
}

// run starts the worker from this thread and stays in it until the worker has ended:
// the death signal goes out when the thread that started a process dies. The worker
// inherits the processor before it has any thread of its own.
func run(cmd *exec.Cmd, processor int, started chan<- error) error {
	if err := cpu.PinThread(processor); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	started <- nil
	_ = cmd.Wait() // how it ended is of no more interest: the stream told
	return nil
}

// socketPair returns both ends of a stream, one to talk over and one to pass on.
func socketPair() (*control.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	conn, err := net.FileConn(ours) // a copy of the descriptor
	err = errors.Join(err, ours.Close())
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("use socket pair: %w", err), theirs.Close())
	}
	return control.NewConn(conn), theirs, nil
}

// Exited is closed when the worker is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// stopTime is how long a worker may take to end by itself.
const stopTime = 5 * time.Second

// Stop ends the worker, if need be by force, and waits until it is gone. It does
// nothing on nil.
func (p *Process) Stop() {
	if p == nil {
		return
	}
	p.undo()
	_ = p.Conn.Close() // nothing is left to tell a worker that is to end
	select {
	case <-p.exited:
		return
	case <-time.After(stopTime):
	}
	_ = p.cmd.Process.Kill() // only if it just ended by itself
	<-p.exited
}
