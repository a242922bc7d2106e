// SPDX-License-Identifier: MIT

package check

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// System is the machine that this process runs on, seen from the network namespace of
// the calling thread.
type System struct{}

// Names lists the interfaces.
func (System) Names() ([]string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("check: list interfaces: %w", err)
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names, nil
}

// Machine looks at everything that is no interface's. What cannot be read is unknown,
// not an error.
func (System) Machine() (Machine, error) {
	release, arch, err := uname()
	if err != nil {
		return Machine{}, err
	}
	m := Machine{Release: release, Arch: arch, PageSize: os.Getpagesize()}
	if m.Version, err = ParseVersion(release); err != nil {
		return Machine{}, err
	}
	// A program may be tied to fewer processors than there are, and so is what it starts.
	m.CPUs = runtime.NumCPU()
	m.Online = max(m.CPUs, parseOnline(text("/proc/interrupts")))
	if m.Capabilities, err = capabilities(); err != nil {
		return Machine{}, err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return Machine{}, fmt.Errorf("check: read the limit of locked memory: %w", err)
	}
	m.Memlock = limit.Cur
	if limit.Cur == unix.RLIM_INFINITY&Unlimited {
		m.Memlock = Unlimited
	}
	m.Config, m.ConfigFrom = config(m.Release)
	m.HugePages, m.HugeFree, m.HugePageSize = parseMemory(text("/proc/meminfo"))
	m.JIT, m.RmemMax = number("/proc/sys/net/core/bpf_jit_enable"), number("/proc/sys/net/core/rmem_max")
	// The thread's own: /proc/net is the main thread's, which may be elsewhere.
	m.XSKs = parseProtocols(text("/proc/thread-self/net/protocols"))
	found := look()
	m.Owners, m.Blind = found.owners(), found.blind()
	return m, nil
}

func uname() (release, arch string, err error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", "", fmt.Errorf("check: uname: %w", err)
	}
	return unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Machine[:]), nil
}

// running is the version of this kernel, zero if it cannot be told.
func running() Version {
	release, _, err := uname()
	if err != nil {
		return Version{}
	}
	v, _ := ParseVersion(release) // zero then too
	return v
}

// line is text without the end of the line.
func line(name string) string { return strings.TrimSpace(text(name)) }

// text reads a small file, empty if it cannot be read.
func text(name string) string {
	b, _ := os.ReadFile(name) // absent, or not for this user: unknown either way
	return string(b)
}

// number reads a file with one number.
func number(name string) int {
	n, err := strconv.Atoi(line(name))
	if err != nil {
		return Unknown
	}
	return n
}

// config reads the kernel's configuration from where it may be.
func config(release string) (values map[string]string, from string) {
	for _, name := range []string{"/proc/config.gz", "/boot/config-" + release} {
		if values, err := configFile(name); err == nil {
			return values, name
		}
	}
	return nil, ""
}

func configFile(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	return parseConfig(r)
}

// numbers of the capabilities that matter (linux/capability.h).
var numbers = map[string]int{
	"CAP_NET_RAW": unix.CAP_NET_RAW, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_BPF": unix.CAP_BPF,
	"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE, "CAP_IPC_LOCK": unix.CAP_IPC_LOCK,
}

// capabilities are the effective ones of the calling thread.
func capabilities() ([]string, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 64 bits in two halves
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return nil, fmt.Errorf("check: read capabilities: %w", err)
	}
	have := []string{}
	for name, n := range numbers {
		if data[n/32].Effective&(1<<(n%32)) != 0 {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	return have, nil
}

// absent tells the errors of what the kernel or the driver does not have.
func absent(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.ENOENT)
}
