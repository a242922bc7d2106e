// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/internal/testnet"
)

// WorkerFD is the descriptor on which a local worker finds its stream.
const WorkerFD = 3

// Local is a Link inside this machine: two processes in two network namespaces
// without names, joined by a veth pair. All of it ends with this process, in
// whatever way that ends.
type Local struct {
	command []string
	pair    *testnet.Pair
	mtu     int    // of the pair
	cpus    [2]int // of the sender and of the receiver
	workers [2]*process
}

// usualMTU is that of a link until a row wants another.
const usualMTU = 1500

// NewLocal makes the namespaces and the veth, of the kernel's usual MTU. Workers are
// started by command, whose first word is the path of the program.
func NewLocal(command ...string) (*Local, error) {
	allowed, err := cpu.Allowed()
	if err != nil {
		return nil, err
	}
	pair, err := testnet.NewPair(testnet.Config{MTU: usualMTU})
	if err != nil {
		return nil, err
	}
	l := &Local{command: command, pair: pair, mtu: usualMTU, cpus: [2]int{allowed[0], allowed[min(1, len(allowed)-1)]}}
	// Without ARP, which an AF_XDP program may swallow.
	if err := errors.Join(pair.A.AddNeigh(pair.B.IP4, pair.B.MAC), pair.B.AddNeigh(pair.A.IP4, pair.A.MAC)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Ends implements Link.
func (l *Local) Ends(ctx context.Context) (tx, rx *End, err error) {
	for i, end := range []testnet.End{l.pair.A, l.pair.B} {
		if w := l.workers[i]; w != nil && !w.end.Broken() {
			continue
		}
		l.workers[i].stop()
		w, err := startWorker(ctx, l.command, end, l.cpus[i])
		if err != nil {
			return nil, nil, fmt.Errorf("start worker in namespace of %s: %w", end.Name, err)
		}
		l.workers[i] = w
		if err := w.end.Greet(); err != nil {
			return nil, nil, fmt.Errorf("greet worker in namespace of %s: %w", end.Name, err)
		}
	}
	return l.workers[0].end, l.workers[1].end, nil
}

// SetMTU implements Link.
func (l *Local) SetMTU(mtu int) error {
	if mtu == l.mtu {
		return nil
	}
	l.mtu = 0 // neither, if only one of two changes
	if err := errors.Join(l.pair.A.SetMTU(mtu), l.pair.B.SetMTU(mtu)); err != nil {
		return err
	}
	l.mtu = mtu
	return nil
}

// Close ends the workers and gives up the namespaces.
func (l *Local) Close() error {
	for _, w := range l.workers {
		w.stop()
	}
	return l.pair.Close()
}

// A process is one worker.
type process struct {
	end    *End
	cmd    *exec.Cmd
	exited chan struct{}
}

// startWorker starts a worker in the namespace of end, tied to one processor.
// When ctx is done the stream is closed, which ends the worker.
func startWorker(ctx context.Context, command []string, end testnet.End, processor int) (*process, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.ExtraFiles = []*os.File{theirs} // WorkerFD
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{
		Pdeathsig: unix.SIGKILL, // if we are killed
		Setpgid:   true,         // an interrupt at the terminal is for us to act on
	}
	p := &process{end: NewEnd(conn, end.Name, end.IP4, end.MAC), cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 2) // what Do says beside what runWorker said
	go func() {
		defer close(p.exited)
		if err := end.NS.Do(func() error { return runWorker(cmd, processor, started) }); err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return p, nil
}

// runWorker starts the worker from this thread and stays in it until the worker
// has ended: the death signal goes out when the thread that started a process
// dies. The worker inherits the processor before it has any thread of its own.
func runWorker(cmd *exec.Cmd, processor int, started chan<- error) error {
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

// stopTime is how long a worker may take to end by itself.
const stopTime = 5 * time.Second

// stop ends the worker, if need be by force, and waits until it is gone.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.end.Hangup() // nothing is left to tell a worker that is to end
	select {
	case <-p.exited:
		return
	case <-time.After(stopTime):
	}
	_ = p.cmd.Process.Kill() // only if it just ended by itself
	<-p.exited
}
