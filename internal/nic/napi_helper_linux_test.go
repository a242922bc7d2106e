// SPDX-License-Identifier: MIT

package nic

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/xdpath/xdpath/internal/testnet"
)

// napiPair is a pair whose end B has NAPIs: a veth has none without a native program.
func napiPair(t *testing.T, queues int) (*testnet.Pair, *NIC) {
	t.Helper()
	p := testnet.TestPair(t, testnet.Config{Queues: queues})
	attachLink(t, &p.B, link.XDPDriverMode)
	n := openEnd(t, &p.B)
	if !n.netdev.commands[netdevCmdNAPISet] {
		t.Skip("this kernel cannot set a NAPI by netlink; Linux 6.13 can")
	}
	n.records = []string{filepath.Join(t.TempDir(), "records")}
	return p, n
}

// setters are the two ways, of which the older one works on any kernel.
var setters = []struct {
	name  string
	apply func(*NIC)
}{
	{"netlink", func(*NIC) {}},
	{"sysfs", func(n *NIC) { n.netdev.commands = nil }},
}

// standing reads what stands in every target of the interface, by number of NAPI.
func standing(t *testing.T, n *NIC) map[uint32]knobs {
	t.Helper()
	access := n.access()
	targets, err := access.targets(nil)
	must(t, err)
	values := make(map[uint32]knobs)
	for _, target := range targets {
		values[target.napi], err = access.get(target.napi)
		must(t, err)
	}
	return values
}

// put sets every target of the interface, as an administrator might.
func put(t *testing.T, n *NIC, v knobs) {
	t.Helper()
	for id := range standing(t, n) {
		must(t, n.access().set(id, v))
	}
}

// stands checks that every target has these values.
func stands(t *testing.T, step string, n *NIC, want knobs) {
	t.Helper()
	values := standing(t, n)
	if len(values) == 0 {
		t.Fatalf("%s: nothing to look at", step)
	}
	for id, got := range values {
		if got != want {
			t.Errorf("%s: %v has %+v, want %+v", step, target{napi: id}, got, want)
		}
	}
}

func deferred(t *testing.T, n *NIC, d Deferral) *Deferred {
	t.Helper()
	done, err := n.DeferNAPI(nil, d)
	must(t, err)
	return done
}

// files lists the records.
func files(t *testing.T, n *NIC) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(n.records[0], filePrefix+"*"))
	must(t, err)
	return found
}

// TestNAPIChild is no test: others run it in a child process, in a namespace, with
// the interface and the folder of records as arguments. It does what the lines on
// its input say, and answers each with a quoted line: empty, or the error.
func TestNAPIChild(t *testing.T) {
	if flag.NArg() != 3 {
		return // not started by one of them
	}
	n, err := Open(flag.Arg(0))
	must(t, err)
	if dir := flag.Arg(1); dir != "" {
		n.records = []string{dir}
	}
	if flag.Arg(2) == "sysfs" {
		n.netdev.commands = nil
	}
	var done *Deferred
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		var d Deferral
		switch words := strings.Fields(in.Text()); words[0] {
		case "defer":
			d.Interrupts, _ = strconv.Atoi(words[1])
			done, err = n.DeferNAPI(nil, d)
		case "restore":
			err = done.Restore()
		}
		if err != nil {
			fmt.Printf("%q\n", err.Error())
			continue
		}
		fmt.Printf("%q\n", "")
	}
}

// napiChild is a process that defers and restores when told.
type napiChild struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *os.File
	buf *bufio.Reader
}

// startNAPIChild starts a child of these rights; nil are the parent's.
func startNAPIChild(t *testing.T, e *testnet.End, as *syscall.SysProcAttr, dir, way string, env ...string) *napiChild {
	t.Helper()
	// By this path, since the test binary's folder may be closed to others.
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNAPIChild$", "--", e.Name, dir, way)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = as
	in, err := cmd.StdinPipe()
	must(t, err)
	out, w, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	must(t, errors.Join(e.NS.Start(cmd), w.Close()))
	c := &napiChild{t: t, cmd: cmd, in: in, out: out, buf: bufio.NewReader(out)}
	t.Cleanup(c.kill)
	return c
}

// kill ends the child at once, with SIGKILL.
func (c *napiChild) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.in.Close()
	_ = c.out.Close()
}

// do tells the child to do something and returns its error's text.
func (c *napiChild) do(words ...any) string {
	c.t.Helper()
	must(c.t, c.out.SetReadDeadline(time.Now().Add(eventWait)))
	_, err := fmt.Fprintln(c.in, words...)
	must(c.t, err)
	line, err := c.buf.ReadString('\n')
	text, syntax := strconv.Unquote(strings.TrimSpace(line))
	if err != nil || syntax != nil {
		rest, _ := io.ReadAll(c.buf)
		c.t.Fatalf("child said %q, %v: %s", line, err, rest)
	}
	return text
}

// nobody is another user with these capabilities and no others.
func nobody(capabilities ...uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: capabilities,
	}
}

// openFolder is a folder that everybody may write to, as /tmp is.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "xdpath-test-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

func wantError(t *testing.T, step string, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got %v, want %v", step, err, target)
		return
	}
	wantText(t, step, err.Error(), words...)
}

func wantText(t *testing.T, step, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q does not name %q", step, text, word)
		}
	}
}
