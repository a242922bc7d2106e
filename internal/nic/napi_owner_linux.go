// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// identity tells which interface this is and who asks. The caller holds mu for
// reading.
func (n *NIC) identity() (identity, error) {
	if n.closed {
		return identity{}, net.ErrClosed
	}
	l, err := n.ask.link(n.index, "")
	if err != nil {
		return identity{}, err
	}
	n.name.Store(&l.Name)
	id := identity{Index: n.index, Name: l.Name, MAC: l.MAC.String(), PID: os.Getpid()}
	if id.Namespace, err = n.ask.namespace(); err != nil {
		return identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, fmt.Errorf("tell this boot from others (is /proc mounted?): %w", err)
	}
	id.Boot = strings.TrimSpace(string(boot))
	if id.Start, err = startTime(id.PID); err != nil {
		return identity{}, err
	}
	return id, nil
}

// namespace names the network namespace that the sockets are of: c and its cookie,
// which no other namespace of this boot has or will have; before Linux 5.14 i and
// its inode number, which is used again.
func (r *requester) namespace() (string, error) {
	cookie, err := unix.GetsockoptUint64(r.fd(), unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err == nil {
		return "c" + strconv.FormatUint(cookie, 10), nil
	}
	if !errors.Is(err, unix.ENOPROTOOPT) {
		return "", fmt.Errorf("ask for the namespace's cookie: %w", err)
	}
	return r.namespaceInode()
}

func (r *requester) namespaceInode() (string, error) {
	fd, err := r.namespaceFD()
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", fmt.Errorf("ask for the namespace's inode: %w", err)
	}
	return "i" + strconv.FormatUint(uint64(st.Ino), 10), nil
}

// namespaceFD returns a descriptor of the namespace that the sockets are of, which
// is that of the thread that opened them. The caller closes it.
func (r *requester) namespaceFD() (int, error) {
	fd, err := unix.IoctlRetInt(r.fd(), unix.SIOCGSKNS)
	if err != nil {
		return -1, fmt.Errorf("ask for the socket's namespace (needs CAP_NET_ADMIN): %w", err)
	}
	return fd, nil // the kernel makes it close-on-exec
}

// startTime tells a process from a later one with the same number: when it started,
// in clock ticks since boot.
func startTime(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("ask when process %d started: %w", pid, err)
	}
	return parseStart(b)
}

// parseStart reads the start time from a /proc/pid/stat, which is its 22nd word. The
// second is the program's name in parentheses, with whatever the name has in it.
func parseStart(stat []byte) (uint64, error) {
	const afterName = 22 - 3
	words := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(words) <= afterName {
		return 0, fmt.Errorf("%d words of process state: %w", len(words), unix.EBADMSG)
	}
	start, err := strconv.ParseUint(words[afterName], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("process state: %w", err)
	}
	return start, nil
}

// owner names the owner of a record that has one. The one that wrote it may have
// left it to another since, or be in a process namespace that cannot be seen from
// here.
func (r record) owner() string {
	if start, err := startTime(r.PID); err == nil && start == r.Start {
		return fmt.Sprintf("process %d", r.PID)
	}
	return fmt.Sprintf("another process (begun by process %d, which cannot be found)", r.PID)
}
