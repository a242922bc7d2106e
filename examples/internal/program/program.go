// SPDX-License-Identifier: MIT

// Package program runs programs for the tests of the examples: an example as a
// process of its own, to be interrupted as by Ctrl-C, and programs of others that
// are its other end.
package program

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
}

// patience is how long to wait for what should come at once.
const patience = 20 * time.Second

// asExample makes a test binary be the example that it tests.
const asExample = "XDPATH_EXAMPLE"

// IsExample tells a TestMain to run the example's main, and no tests.
func IsExample() bool { return os.Getenv(asExample) != "" }

// Installed skips the test if a program that is somebody else's is not there, and
// says which Debian package has it. With XDPATH_TEST_REQUIRE=1 the test fails
// instead.
func Installed(tb TB, name, debian string) {
	tb.Helper()
	_, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("XDPATH_TEST_REQUIRE") == "1":
		tb.Fatalf("required here, but %v; install Debian's package %s", err, debian)
	default:
		tb.Skipf("%v; install Debian's package %s", err, debian)
	}
}

// Program is a process and all that it prints. It is killed when the test ends, and
// what it printed is logged if the test failed. Its methods are for one goroutine.
type Program struct {
	tb    TB
	cmd   *exec.Cmd
	lines chan string // closed at the end of its output
	done  chan error  // has what Wait of the process returned

	mu  sync.Mutex // guards what follows
	all bytes.Buffer
}

// Example starts the example whose test this is. start starts a process where it
// should run, such as in a network namespace.
func Example(tb TB, start func(*exec.Cmd) error, args ...string) *Program {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asExample+"=1")
	return run(tb, start, cmd)
}

// Other starts another program.
func Other(tb TB, start func(*exec.Cmd) error, name string, args ...string) *Program {
	tb.Helper()
	return run(tb, start, exec.Command(name, args...))
}

func run(tb TB, start func(*exec.Cmd) error, cmd *exec.Cmd) *Program {
	tb.Helper()
	out, in, err := os.Pipe() // one for both, so that the order is kept
	if err != nil {
		tb.Fatalf("%v", err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = start(cmd)
	in.Close()
	if err != nil {
		out.Close()
		tb.Fatalf("start %v: %v", cmd, err)
	}
	p := &Program{tb: tb, cmd: cmd, lines: make(chan string, 1<<16), done: make(chan error, 1)}
	go p.read(out)
	go func() { p.done <- cmd.Wait() }()
	tb.Cleanup(func() {
		cmd.Process.Kill() // no more than an error if it has ended
		for range p.lines {
		}
		if tb.Failed() {
			tb.Logf("%v:\n%s", cmd, p.Output())
		}
	})
	return p
}

// read takes in the output until its end.
func (p *Program) read(out io.ReadCloser) {
	defer out.Close()
	defer close(p.lines)
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		p.all.Write(append(s.Bytes(), '\n'))
		p.mu.Unlock()
		p.lines <- s.Text()
	}
}

// Output is all that the program has printed.
func (p *Program) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

// Line waits for the next line that has all the words in it, and returns it. Lines
// before it are passed over.
func (p *Program) Line(words ...string) string {
	p.tb.Helper()
	for giveUp := time.After(patience); ; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.tb.Fatalf("%v ended without a line with %q", p.cmd, words)
			}
			if hasAll(line, words) {
				return line
			}
		case <-giveUp:
			p.tb.Fatalf("%v printed no line with %q in %v", p.cmd, words, patience)
		}
	}
}

func hasAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// Wait waits for the end of the program and returns its output and the error that
// it ended with, nil for exit status 0.
func (p *Program) Wait() (string, error) {
	p.tb.Helper()
	giveUp := time.After(patience)
	var err error
	select {
	case err = <-p.done:
	case <-giveUp:
		p.tb.Fatalf("%v still runs after %v", p.cmd, patience)
	}
	for {
		select {
		case _, ok := <-p.lines:
			if !ok {
				return p.Output(), err
			}
		case <-giveUp:
			p.tb.Fatalf("%v left its output open", p.cmd)
		}
	}
}

// Interrupt is Ctrl-C: it ends the program, which must go well, and returns its
// output.
func (p *Program) Interrupt() string {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.tb.Fatalf("interrupt %v: %v", p.cmd, err)
	}
	out, err := p.Wait()
	if err != nil {
		p.tb.Fatalf("%v after an interrupt: %v", p.cmd, err)
	}
	return out
}

// Kill ends the program without giving it a chance to clean up.
func (p *Program) Kill() {
	p.tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.tb.Fatalf("kill %v: %v", p.cmd, err)
	}
	p.Wait()
}

// Build compiles another example, which is in a folder beside the test's, and returns
// the name of the program.
func Build(tb TB, folder string) string {
	tb.Helper()
	Installed(tb, "go", "golang")
	dir, err := os.MkdirTemp("", "xdpath-example-")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, filepath.Base(folder))
	if out, err := exec.Command("go", "build", "-o", name, folder).CombinedOutput(); err != nil {
		tb.Fatalf("go build %s: %v\n%s", folder, err, out)
	}
	return name
}
