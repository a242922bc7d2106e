// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilityNames has those that anything here may need.
var capabilityNames = map[int]string{
	unix.CAP_NET_ADMIN: "CAP_NET_ADMIN",
	unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN",
	unix.CAP_BPF:       "CAP_BPF",
	unix.CAP_PERFMON:   "CAP_PERFMON",
}

// effective reads the capabilities of the calling thread as a bit set. It is
// empty if they cannot be read.
func effective() uint64 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

// missing names those of need that are not in have. CAP_SYS_ADMIN stands for
// those that were carved out of it, and before Linux 5.8 nothing else would do.
func missing(have uint64, need []int, oldKernel bool) string {
	const sysAdmin = 1 << unix.CAP_SYS_ADMIN
	var names []string
	for _, n := range need {
		carved := n == unix.CAP_BPF || n == unix.CAP_PERFMON // out of CAP_SYS_ADMIN, by 5.8
		if carved && oldKernel {
			n = unix.CAP_SYS_ADMIN
		}
		if carved && have&sysAdmin != 0 {
			continue
		}
		if have&(1<<n) == 0 {
			names = append(names, capabilityNames[n])
		}
	}
	return strings.Join(names, " and ")
}

// explainPermission says which capability a step lacks.
func explainPermission(step string, err error, need ...int) error {
	if names := missing(effective(), need, kernelBefore(5, 8)); names != "" {
		return fmt.Errorf("bpf: %s: needs %s: %w", step, names, bare(err))
	}
	return fmt.Errorf("bpf: %s: a sandbox or user namespace forbids it: %w", step, bare(err))
}

// explainMemory is explainPermission for what takes kernel memory: until Linux
// 5.11 that counted against RLIMIT_MEMLOCK, and too little of it is EPERM too. The
// limit is the caller's to raise; this package changes none.
func explainMemory(step string, err error, bytes int) error {
	need := []int{unix.CAP_BPF, unix.CAP_NET_ADMIN}
	if missing(effective(), need, kernelBefore(5, 8)) != "" || !kernelBefore(5, 11) {
		return explainPermission(step, err, need...)
	}
	var limit unix.Rlimit
	if e := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); e != nil {
		return errors.Join(explainPermission(step, err, need...), e)
	}
	return memlockError(step, err, bytes, limit.Cur)
}

func memlockError(step string, err error, bytes int, limit uint64) error {
	return fmt.Errorf("bpf: %s: about %d bytes do not fit under RLIMIT_MEMLOCK, which is %d bytes for all maps together;"+
		" raise it (ulimit -l, LimitMEMLOCK=): %w", step, bytes, limit, bare(err))
}

// kernelBefore compares the running kernel's release; one that cannot be read
// counts as new.
func kernelBefore(major, minor int) bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	return releaseBefore(unix.ByteSliceToString(name.Release[:]), major, minor)
}

func releaseBefore(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}
