// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// sysfsKnobs sets the values of the whole interface, by the only way there is before
// Linux 6.13.
//
// A sysfs shows the network namespace that the thread was in that mounted it, and
// /sys may be any namespace's: an interface of the same name and index there is the
// wrong one. Each access therefore mounts a sysfs of the right namespace, which is
// attached nowhere, and is gone when its descriptor is closed.
type sysfsKnobs struct {
	ask   *requester
	index int
}

const (
	interruptsFile = "napi_defer_hard_irqs"
	timeoutFile    = "gro_flush_timeout"
)

// targets is one: the values are those of all queues, asked for or not.
func (k sysfsKnobs) targets(queues []int) ([]target, error) {
	return []target{{queues: queues}}, nil
}

// get reads both values. Since Linux 6.13 they are what new NAPIs begin with, while
// each NAPI has its own.
func (k sysfsKnobs) get(uint32) (v knobs, err error) {
	err = k.in(func(dir *os.Root) error {
		interrupts, err := readNumber(dir, interruptsFile, 32)
		if err != nil {
			return err
		}
		v.Interrupts = uint32(interrupts)
		v.Timeout, err = readNumber(dir, timeoutFile, 64)
		return err
	})
	return v, err
}

// set writes both values. The time comes first: without one the kernel defers
// nothing, and nothing is half done.
func (k sysfsKnobs) set(_ uint32, v knobs) error {
	return k.in(func(dir *os.Root) error {
		if err := writeNumber(dir, timeoutFile, v.Timeout); err != nil {
			return err
		}
		return writeNumber(dir, interruptsFile, uint64(v.Interrupts))
	})
}

// readNumber reads a file of one decimal number, in the interface's folder.
func readNumber(dir *os.Root, name string, bits int) (uint64, error) {
	b, err := dir.ReadFile(name)
	if err != nil {
		return 0, knobError(name, err)
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, bits)
	if err != nil {
		return 0, knobError(name, err)
	}
	return n, nil
}

// writeNumber writes it in one call, as sysfs wants.
func writeNumber(dir *os.Root, name string, n uint64) error {
	f, err := dir.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return knobError(name, err)
	}
	_, err = f.WriteString(strconv.FormatUint(n, 10))
	if err = errors.Join(err, f.Close()); err != nil {
		return knobError(name, err)
	}
	return nil
}

// knobError says what an error of such a file means.
func knobError(name string, err error) error {
	switch {
	case errors.Is(err, unix.ENODEV):
		return ErrNoInterface // gone since it was opened
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel has no %s, which is of Linux 5.8: %w", name, errors.ErrUnsupported)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("access %s (needs CAP_NET_ADMIN, in the first user namespace, and root's files): %w", name, err)
	}
	return fmt.Errorf("access %s: %w", name, err)
}

// renameTries is how often an interface is looked up again whose name has changed
// between netlink and sysfs.
const renameTries = 5

// in calls f with the interface's folder in a sysfs of its namespace.
func (k sysfsKnobs) in(f func(dir *os.Root) error) error {
	mount, err := k.ask.mountSysfs()
	if err != nil {
		return err
	}
	defer func() { _ = mount.Close() }()
	for try := 1; ; try++ {
		l, err := k.ask.link(k.index, "")
		if err != nil {
			return err
		}
		dir, err := mount.OpenRoot("class/net/" + l.Name)
		if errors.Is(err, fs.ErrNotExist) && try < renameTries {
			continue
		}
		if err != nil {
			return fmt.Errorf("find the interface in sysfs: %w", err)
		}
		// The folder stays the interface's through a rename; it is the right one if
		// the index says so.
		index, err := readNumber(dir, "ifindex", 31)
		if err == nil && int(index) == k.index {
			return errors.Join(f(dir), dir.Close())
		}
		_ = dir.Close()
		if try == renameTries {
			return errors.Join(fmt.Errorf("sysfs shows index %d: %w", index, ErrNoInterface), err)
		}
	}
}

// mountSysfs mounts a sysfs for the namespace of the sockets.
func (r *requester) mountSysfs() (mount *os.Root, err error) {
	namespace, err := r.namespaceFD()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(namespace) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		mount, err = mountFrom(namespace)
	}()
	<-done
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w (before Linux 6.13 this is set in sysfs, and needs CAP_SYS_ADMIN to mount it for the namespace)", err)
	}
	return mount, err
}

// mountFrom takes this thread into a namespace for the mount, and back again. The
// goroutine is thrown away by the caller; if the way back fails, the thread with it.
func mountFrom(namespace int) (*os.Root, error) {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("open the namespace of this thread: %w", err)
	}
	defer func() { _ = unix.Close(home) }()
	if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread() // it never left
		return nil, fmt.Errorf("enter the interface's namespace: %w", err)
	}
	mount, err := mountHere()
	if back := unix.Setns(home, unix.CLONE_NEWNET); back == nil {
		runtime.UnlockOSThread()
	}
	return mount, err
}

// mountHere mounts a sysfs of this thread's namespace: the kernel takes it from the
// thread that opens the file system (sysfs_init_fs_context). The mount is in no mount
// namespace, so that nobody sees it, and lives as long as the descriptor.
func mountHere() (*os.Root, error) {
	fd, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open a sysfs: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.FsconfigCreate(fd); err != nil {
		return nil, fmt.Errorf("make a sysfs: %w", err)
	}
	mounted, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("mount a sysfs: %w", err)
	}
	defer func() { _ = unix.Close(mounted) }()
	root, err := os.OpenRoot(fmt.Sprintf("/proc/thread-self/fd/%d", mounted))
	if err != nil {
		return nil, fmt.Errorf("open the mounted sysfs: %w", err)
	}
	return root, nil
}
