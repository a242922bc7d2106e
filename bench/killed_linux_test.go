// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// eventually waits until f holds, and fails the test if it does not in time.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 30 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// children returns the processes whose parent is pid.
func children(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid: the name may hold anything.
		i := bytes.LastIndexByte(b, ')')
		if f := strings.Fields(string(b[i+1:])); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			found = append(found, child)
		}
	}
	return found
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(b, []byte(") Z "))
}

// inUse tells who holds a namespace: any process or thread in it, any open
// descriptor of it, any mount of it. Without one of these the kernel has taken
// it down, or is about to, with all interfaces and programs in it.
func inUse(ns string) string {
	for _, pattern := range []string{"/proc/[0-9]*/ns/net", "/proc/[0-9]*/task/*/ns/net", "/proc/[0-9]*/fd/*"} {
		links, _ := filepath.Glob(pattern)
		for _, l := range links {
			if target, err := os.Readlink(l); err == nil && target == ns {
				return l
			}
		}
	}
	mounts, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, m := range mounts {
		if b, err := os.ReadFile(m); err == nil && bytes.Contains(b, []byte(ns)) {
			return m
		}
	}
	return ""
}

// A running bench in a window that would last for minutes.
type running struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	workers []int
	spaces  []string // their namespaces
}

func startBench(t *testing.T, args ...string) *running {
	t.Helper()
	testnet.Require(t)
	r := &running{cmd: program(args...)}
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	})
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two workers send and receive in namespaces of their own", func() bool {
		r.workers, r.spaces = children(r.cmd.Process.Pid), nil
		for _, w := range r.workers {
			ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", w))
			if err != nil || ns == own || !carries(w) {
				return false
			}
			r.spaces = append(r.spaces, ns)
		}
		return len(r.workers) == 2
	})
	if r.spaces[0] == r.spaces[1] {
		t.Fatal("both workers are in one namespace")
	}
	return r
}

// carries tells whether traffic flows in the namespace of a process.
func carries(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		name, counts, ok := strings.Cut(strings.TrimSpace(line), ":")
		if f := strings.Fields(counts); ok && name != "lo" && len(f) > 9 {
			rx, _ := strconv.Atoi(f[1])
			tx, _ := strconv.Atoi(f[9])
			return rx+tx > 1000
		}
	}
	return false
}

// gone waits until nothing is left of the bench.
func (r *running) gone(t *testing.T) {
	t.Helper()
	for _, w := range r.workers {
		eventually(t, fmt.Sprintf("worker %d ends", w), func() bool { return !alive(w) })
	}
	for _, ns := range r.spaces {
		eventually(t, ns+" is free", func() bool { return inUse(ns) == "" })
	}
}

// TestKilled kills the bench in the middle of a run of every path, in a way
// that leaves it no time for anything.
func TestKilled(t *testing.T) {
	for _, path := range []string{"mmsg", "gso", "asavie", "xdp-raw", "xdp"} {
		t.Run(path, func(t *testing.T) {
			r := startBench(t, "-paths", path, "-duration", "5m")
			if err := r.cmd.Process.Signal(unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = r.cmd.Wait()
			r.gone(t)
		})
	}
}

// TestInterrupted asks the bench to end.
func TestInterrupted(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "out.json")
			if err := os.WriteFile(file, []byte("former results"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := startBench(t, "-paths", "xdp", "-duration", "5m", "-json", file)
			if err := r.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = r.cmd.Wait()
			if status := r.cmd.ProcessState.ExitCode(); status != exitInterrupted {
				t.Errorf("exit status %d: %s", status, r.stderr.String())
			}
			if got := r.stderr.String(); got != "bench: interrupted\n" {
				t.Errorf("standard error %q", got)
			}
			r.gone(t)
			left, err := os.ReadDir(dir)
			if b, _ := os.ReadFile(file); err != nil || len(left) != 1 || string(b) != "former results" {
				t.Errorf("%v: files %v, results %q", err, left, b)
			}
		})
	}
}

// TestWorkerKilled kills one worker: its path is a row with the reason, and the
// bench ends in good order.
func TestWorkerKilled(t *testing.T) {
	r := startBench(t, "-paths", "mmsg", "-sizes", "64", "-duration", "5m", "-runs", "1")
	if err := unix.Kill(r.workers[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, r.stderr.String())
	}
	r.gone(t)
}
