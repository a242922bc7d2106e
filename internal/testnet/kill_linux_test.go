// SPDX-License-Identifier: MIT

package testnet

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestHelper is no test: other tests run it in a child process, with the part it
// shall play as its argument. It prints one line and waits for one, or for death.
func TestHelper(t *testing.T) {
	var line string
	switch flag.Arg(0) {
	case "namespace":
		line = inode(t)
	case "pair":
		line = helperPair(t)
	default:
		return // not started by one of them
	}
	fmt.Println(line)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// helperPair makes a pair and gives end A to the namespace on descriptor 3, the
// parent's, which then sees what becomes of the pair. It returns the name of end A
// and the two namespaces that the child made.
func helperPair(t *testing.T) string {
	p, err := NewPair(Config{})
	if err != nil {
		t.Fatal(err)
	}
	line := p.A.Name
	for _, ns := range []*NS{p.A.NS, p.B.NS} {
		if err := ns.Do(func() error { line += " " + inode(t); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	parent := &NS{fd: 3}
	err = parent.Do(func() (err error) {
		parent.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.A.Move(parent); err != nil {
		t.Fatal(err)
	}
	return line
}

// startPair starts a child that plays "pair", with ns on its descriptor 3, and
// returns the words that it says.
func startPair(t *testing.T, ns *NS) (cmd *exec.Cmd, words []string) {
	t.Helper()
	nsFile := os.NewFile(uintptr(dup(t, ns.FD())), "namespace")
	defer func() { _ = nsFile.Close() }()
	cmd = exec.Command(os.Args[0], "-test.run=^TestHelper$", "--", "pair")
	cmd.ExtraFiles = []*os.File{nsFile}
	stdin, err := cmd.StdinPipe() // kept open: the child waits for it
	must(t, err)
	t.Cleanup(func() { _ = stdin.Close() })
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	words = strings.Fields(line)
	if err != nil || len(words) != 3 {
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(out)
		t.Fatalf("child said %q, %v: %s", line, err, rest)
	}
	return cmd, words
}

// A killed process takes its namespaces and interfaces with it.
func TestKilledProcessLeavesNothing(t *testing.T) {
	ns := newTestNS(t)
	cmd, words := startPair(t, ns)
	moved := End{NS: ns, Name: words[0]}
	_, err := moved.lookup()
	must(t, err)
	for _, name := range words[1:] {
		if len(holders(t, name)) == 0 {
			t.Errorf("%s of the living child is not found", name)
		}
	}
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("child ended well though it was killed")
	}
	// End A can only vanish from here because end B was destroyed, and end B only
	// because nothing holds its namespace any more.
	gone, err := waitFor(carrierWait, func() (bool, error) {
		_, err := moved.lookup()
		return err != nil, nil
	})
	if err != nil || !gone {
		t.Errorf("interface %s is still there: %v", moved.Name, err)
	}
	for _, name := range words[1:] {
		if left := holders(t, name); len(left) > 0 {
			t.Errorf("%s is still held by %v", name, left)
		}
	}
}

// holders lists what refers to a namespace: threads, descriptors, mounts.
func holders(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/proc/[0-9]*/task/*/ns/net", "/proc/[0-9]*/fd/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if link, err := os.Readlink(path); err == nil && link == name {
				found = append(found, path)
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(mounts), "\n")
	return append(found, slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, name) })...)
}

func dup(t *testing.T, fd int) int {
	t.Helper()
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}
