// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/internal/nic"
)

// ReadFacts describes this process and the machine it is on.
func ReadFacts() (control.Facts, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return control.Facts{}, fmt.Errorf("read kernel release: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return control.Facts{}, fmt.Errorf("read boot id: %w", err)
	}
	machine, err := cpu.Machine()
	if err != nil {
		return control.Facts{}, err
	}
	pinned, err := cpu.Allowed()
	if err != nil {
		return control.Facts{}, err
	}
	return control.Facts{
		Machine: strings.TrimSpace(string(boot)),
		Kernel:  unix.ByteSliceToString(u.Release[:]),
		Arch:    runtime.GOARCH, Go: runtime.Version(),
		CPUModel: cpu.Model(), CPUs: machine.CPUs,
		Pinned: pinned, GOMAXPROCS: runtime.GOMAXPROCS(0), PID: os.Getpid(),
		Build: control.Own().Build,
	}, nil
}

// ReadNIC describes an interface.
func ReadNIC(name string) (*control.NIC, error) {
	n, err := nic.Open(name)
	if err != nil {
		return nil, err
	}
	l, err := n.Link()
	if err = errors.Join(err, n.Close()); err != nil {
		return nil, err
	}
	return &control.NIC{Name: l.Name, Driver: l.Driver, MTU: l.MTU, RXQueues: l.RxQueues, TXQueues: l.TxQueues}, nil
}
