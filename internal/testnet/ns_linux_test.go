// SPDX-License-Identifier: MIT

package testnet

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inode identifies the network namespace of the calling thread.
func inode(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func newTestNS(t *testing.T) *NS {
	t.Helper()
	Require(t)
	ns, err := NewNS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Close(); err != nil {
			t.Error(err)
		}
	})
	return ns
}

func TestDoRunsInside(t *testing.T) {
	ns := newTestNS(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home := inode(t)
	var inside, again, elsewhere string
	sentinel := errors.New("sentinel")
	err := ns.Do(func() error {
		inside = inode(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			elsewhere = inode(t)
		}()
		<-done
		return sentinel
	})
	if !errors.Is(err, sentinel) {
		t.Errorf("got error %v, want that of the function", err)
	}
	if err := ns.Do(func() error { again = inode(t); return nil }); err != nil {
		t.Fatal(err)
	}
	if inside == home || inside != again {
		t.Errorf("outside %s, inside %s, then %s", home, inside, again)
	}
	if elsewhere != home || inode(t) != home {
		t.Errorf("other goroutine %s, caller afterwards %s, want %s", elsewhere, inode(t), home)
	}
}

// No thread of the process stays in a namespace that Do has left, not even when Do
// ran on the main thread: the namespace could never die.
func TestDoLeavesNoThreadInside(t *testing.T) {
	Require(t)
	Leaks(t)
	home := inode(t)
	var inodes []string
	var wg sync.WaitGroup
	for range 20 {
		ns := newTestNS(t)
		wg.Go(func() {
			_ = ns.Do(func() error { return nil })
		})
	}
	wg.Wait()
	ok, err := waitFor(leakWait, func() (bool, error) {
		inodes = threadNamespaces(t)
		return len(inodes) == 1 && inodes[0] == home, nil
	})
	if err != nil || !ok {
		t.Errorf("threads are in %v, want all in %s (%v)", inodes, home, err)
	}
}

// threadNamespaces lists the different namespaces of the process's threads.
func threadNamespaces(t *testing.T) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	seen := map[string]bool{}
	for _, task := range tasks {
		link, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
		if err == nil && !seen[link] { // a thread may have ended meanwhile
			seen[link] = true
			found = append(found, link)
		}
	}
	return found
}

func TestDoDiscardsTheThread(t *testing.T) {
	ns := newTestNS(t)
	var tid int
	err := ns.Do(func() error {
		tid = unix.Gettid()
		// A thread changed like this must not come back to other goroutines.
		return unix.Unshare(unix.CLONE_FS)
	})
	if err != nil {
		t.Fatal(err)
	}
	gone, _ := waitFor(leakWait, func() (bool, error) {
		err := unix.Tgkill(unix.Getpid(), tid, 0)
		return err == unix.ESRCH, nil
	})
	if !gone {
		t.Errorf("thread %d still lives", tid)
	}
}

func TestDoPassesGoexit(t *testing.T) {
	ns := newTestNS(t)
	after := make(chan bool, 1)
	go func() {
		defer func() { after <- true }()
		_ = ns.Do(func() error {
			runtime.Goexit() // as t.FailNow does
			return nil
		})
		after <- false
	}()
	if !<-after {
		t.Error("Do returned although its function ended the goroutine")
	}
}

func TestSocketsOutliveDo(t *testing.T) {
	ns := newTestNS(t)
	a, b := listen(t, ns, net.IPv4(127, 0, 0, 1)), listen(t, ns, net.IPv6loopback)
	if a == nil || b == nil {
		t.Fatal("no socket")
	}
	exchange(t, ns, net.IPv4(127, 0, 0, 1), ns, net.IPv4(127, 0, 0, 1))
	exchange(t, ns, net.IPv6loopback, ns, net.IPv6loopback)
}

func TestStart(t *testing.T) {
	ns := newTestNS(t)
	var want string
	if err := ns.Do(func() error { want = inode(t); return nil }); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "--", "namespace")
	// The signal follows the forking thread: it must outlive Start.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout = &out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("go on\n")); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("child: %v", err)
	}
	if got, _, _ := strings.Cut(out.String(), "\n"); got != want {
		t.Errorf("child ran in %q, want %q", got, want)
	}
	for _, got := range threadNamespaces(t) {
		if got == want {
			t.Error("a thread of the parent stayed inside")
		}
	}
}

func TestStartReportsFailure(t *testing.T) {
	ns := newTestNS(t)
	if err := ns.Start(exec.Command("/nonexistent/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
}

func TestClosedNS(t *testing.T) {
	ns := newTestNS(t)
	for range 2 {
		if err := ns.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := ns.Do(func() error { return nil }); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Do: got %v, want net.ErrClosed", err)
	}
	if err := ns.Start(exec.Command(os.Args[0])); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Start: got %v, want net.ErrClosed", err)
	}
	if fd := ns.FD(); fd != -1 {
		t.Errorf("FD: got %d, want -1", fd)
	}
}

func TestNSIsUnnamedAndCloseOnExec(t *testing.T) {
	ns := newTestNS(t)
	flags, err := unix.FcntlInt(uintptr(ns.FD()), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: want close-on-exec", flags, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := ns.Do(func() error { name = inode(t); return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), name) {
		t.Errorf("%s is mounted", name)
	}
}
