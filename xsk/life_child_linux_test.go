// SPDX-License-Identifier: MIT

package xsk

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// TestChild is no test: others run it in a child process, with the part that it
// plays and what it needs for it as arguments. Parent and child talk in lines.
func TestChild(t *testing.T) {
	if part, ok := parts[flag.Arg(0)]; ok {
		part(t, flag.Args()[1:])
	}
}

// say is the child's next line, a value as JSON.
func say(t *testing.T, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(b))
}

// hear waits for the parent's next line, or for its end.
var stdin = bufio.NewReader(os.Stdin)

func hear() string {
	line, _ := stdin.ReadString('\n')
	return strings.TrimSpace(line)
}

// user is whose rights a child has: the parent's, or another user's with these
// capabilities and no others.
type user struct {
	id   uint32
	caps []uintptr
}

// child is a process that plays a part.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *os.File
	buf *bufio.Reader
}

// childWait bounds the wait for a child's next line, and for what else cannot
// take that long.
const childWait = 20 * time.Second

// childLife bounds the life of a child that checks things itself: opening and
// closing a thousand sockets takes its time on a busy machine.
const childLife = time.Minute

// startChild starts a child in a namespace. It is ended with the test.
func startChild(t testing.TB, ns *testnet.NS, as user, part string, args ...string) *child {
	t.Helper()
	// By this path, since the test binary's directory may be closed to others.
	cmd := exec.Command("/proc/self/exe", append([]string{"-test.run=^TestChild$", "--", part}, args...)...)
	if as.id != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: as.id, Gid: as.id},
			AmbientCaps: as.caps,
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = errors.Join(ns.Start(cmd), w.Close())
	c := &child{t: t, cmd: cmd, in: in, out: out, buf: bufio.NewReader(out)}
	t.Cleanup(func() {
		c.kill()
		in.Close()
		out.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hear waits for the child's next line and puts it into v.
func (c *child) hear(v any) {
	c.t.Helper()
	c.out.SetReadDeadline(time.Now().Add(childWait))
	line, err := c.buf.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), v)
	}
	if err != nil {
		c.kill()
		rest, _ := io.ReadAll(c.buf)
		c.t.Fatalf("child said %q: %v; and then: %s", line, err, rest)
	}
}

// tell gives the child a line.
func (c *child) tell(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err)
	}
}

// passes waits for the end of a child that checks things itself.
func (c *child) passes() {
	c.t.Helper()
	c.out.SetReadDeadline(time.Now().Add(childLife))
	text, err := io.ReadAll(c.buf)
	if err != nil {
		c.kill()
	}
	if err := errors.Join(err, c.cmd.Wait()); err != nil {
		c.t.Errorf("child: %v: %s", err, text)
	}
}

// kill ends the child, if it has not ended, and waits for its end.
func (c *child) kill() {
	if c.cmd.Process != nil && c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

// parts are what a child can play.
var parts = map[string]func(*testing.T, []string){
	"hold":    playHold,
	"open":    playOpen,
	"fail":    playFail,
	"receive": playReceive,
	"list":    playList,
	"rights":  playRights,
	"limits":  playLimits,
	"files":   playFiles,
	"memlock": playMemlock,
	"second":  playSecond,
	"rounds":  playRounds,
}

// playHold opens the interface's queue 0, says so, and closes it when it is told.
func playHold(t *testing.T, args []string) {
	s, err := Open(Config{Interface: args[0]})
	if err != nil {
		t.Fatal(err)
	}
	say(t, s.Info().Mode)
	if hear() == "close" {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
