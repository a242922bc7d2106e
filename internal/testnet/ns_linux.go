// SPDX-License-Identifier: MIT

package testnet

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// NS is one private network namespace without a name. The NS owns a descriptor of
// it and a route netlink socket in it; the namespace itself dies when these, the
// sockets opened in Do and the processes started by Start are all gone.
//
// All methods may be called from any goroutine at any time.
type NS struct {
	mu     sync.RWMutex // held for reading while fd is in use; Close writes
	fd     int          // -1 after Close
	handle *netlink.Handle
}

// NewNS makes an empty namespace with its loopback interface up. IPv6 addresses in
// it are usable at once: duplicate address detection is off.
// The error wraps EPERM where CAP_SYS_ADMIN is missing.
func NewNS() (*NS, error) { return newNS(true) }

func newNS(ipv6 bool) (*NS, error) {
	n := &NS{fd: -1}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("testnet: make a network namespace (needs CAP_SYS_ADMIN): %w", err)
		}
		// The thread's own link: /proc/self would name the main thread's namespace.
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("testnet: open the new namespace: %w", err)
		}
		n.fd = fd
		if err := setIPv6(ipv6); err != nil {
			return err
		}
		n.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("testnet: open netlink: %w", err)
		}
		return loopbackUp(n.handle)
	})
	if err != nil {
		_ = n.Close() // the first error is the one to tell
		return nil, err
	}
	return n, nil
}

func loopbackUp(h *netlink.Handle) error {
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("testnet: look up lo: %w", err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return fmt.Errorf("testnet: set lo up: %w", err)
	}
	return nil
}

// FD is the descriptor of the namespace, close-on-exec, valid until Close; -1
// after it. Hand it to a child with ExtraFiles to share the namespace.
func (n *NS) FD() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.fd
}

// Do runs f on an operating system thread inside the namespace and returns its
// error. Sockets that f opens belong to the namespace for as long as they live and
// may be used from any goroutine afterwards. Goroutines that f starts run outside.
//
// The thread is thrown away afterwards, so f may also drop capabilities or change
// anything else of its thread. For the same reason a process started in f with
// Pdeathsig would die at once: use Start for processes. If f ends its goroutine
// (t.FailNow), the calling goroutine ends as well.
func (n *NS) Do(f func() error) error {
	return onThread(func() error {
		if err := n.enter(); err != nil {
			return err
		}
		return f()
	})
}

// Start starts cmd inside the namespace; cmd.Wait is the caller's. Processes that
// the new process starts are inside too.
func (n *NS) Start(cmd *exec.Cmd) error {
	errs := make(chan error, 1)
	go func() { errs <- n.startHere(cmd) }()
	return <-errs
}

// startHere forks from this thread and brings the thread home: Pdeathsig follows
// the life of the forking thread, so it must not be thrown away as in Do.
func (n *NS) startHere(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("testnet: open the namespace of this thread: %w", err)
	}
	defer func() { _ = unix.Close(home) }()
	if err := n.enter(); err != nil {
		runtime.UnlockOSThread() // setns failed: the thread never left
		return err
	}
	startErr := cmd.Start()
	if err := unix.Setns(home, unix.CLONE_NEWNET); err != nil {
		// The thread stays locked and dies with this goroutine.
		if startErr == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		return fmt.Errorf("testnet: bring the thread back to its namespace: %w", err)
	}
	runtime.UnlockOSThread()
	if startErr != nil {
		return fmt.Errorf("testnet: start %s: %w", cmd.Path, startErr)
	}
	return nil
}

// enter moves the calling thread into the namespace. The caller has locked it.
func (n *NS) enter() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.fd < 0 {
		return fmt.Errorf("testnet: enter namespace: %w", net.ErrClosed)
	}
	if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("testnet: enter namespace (needs CAP_SYS_ADMIN): %w", err)
	}
	return nil
}

// Close gives up the handle on the namespace. It does not wait for the kernel to
// take the namespace down, which it does in the background. Idempotent.
func (n *NS) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.handle != nil {
		n.handle.Close()
		n.handle = nil
	}
	if n.fd < 0 {
		return nil
	}
	fd := n.fd
	n.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("testnet: close namespace: %w", err)
	}
	return nil
}

// route runs f with the namespace's netlink handle, which serialises its users.
func (n *NS) route(f func(h *netlink.Handle) error) error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.handle == nil {
		return net.ErrClosed
	}
	return f(n.handle)
}
