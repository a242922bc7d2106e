// SPDX-License-Identifier: MIT

package check

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// holders is what a look at the processes found.
type holders struct {
	sockets map[int][]uint64 // inodes of AF_XDP sockets by process, of this network namespace
	hidden  int              // processes that may not be looked into
}

// look goes through the processes that are in the calling thread's network namespace,
// and finds AF_XDP sockets by their mapped rings, which need no help of the kernel's.
func look() holders {
	h := holders{sockets: make(map[int][]uint64)}
	home, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return h
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return h
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		switch inodes, err := rings(pid, home); {
		case os.IsPermission(err):
			h.hidden++
		case err == nil && len(inodes) > 0:
			h.sockets[pid] = inodes
		}
	}
	return h
}

// rings finds the AF_XDP sockets that a process has mapped; none if it is in another
// network namespace than home. Its threads may be elsewhere, which is not looked at.
func rings(pid int, home string) ([]uint64, error) {
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil || ns != home {
		return nil, err
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return parseMaps(f)
}

// owners are the processes, in order of their numbers.
func (h holders) owners() []Owner {
	all := []Owner{}
	for pid := range h.sockets {
		all = append(all, owner(pid))
	}
	slices.SortFunc(all, func(a, b Owner) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

func owner(pid int) Owner {
	return Owner{PID: pid, Name: line(fmt.Sprintf("/proc/%d/comm", pid))}
}

func (h holders) blind() []string {
	if h.hidden == 0 {
		return nil
	}
	return []string{fmt.Sprintf("processes that may not be looked into (%d): they may have AF_XDP sockets that are not listed here", h.hidden)}
}

// holding finds the processes that have a socket open, mapped or not.
func holding(inode uint64) (all []Owner) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		if pid, err := strconv.Atoi(d.Name()); err == nil && has(pid, inode) {
			all = append(all, owner(pid))
		}
	}
	return all
}

// has tells whether a process has a socket open.
func has(pid int, inode uint64) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd fs.DirEntry) bool {
		target, err := os.Readlink(dir + "/" + fd.Name())
		if err != nil {
			return false
		}
		n, ok := parseSocketLink(target)
		return ok && n == inode
	})
}
