// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
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
	}, nil
}
