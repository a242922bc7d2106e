// SPDX-License-Identifier: MIT

package program

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// script prints a line, waits for an interrupt, and ends with the status that it
// was told.
const script = `trap 'echo end; exit '$1 INT; echo "status $1"; echo ready >&2; while :; do sleep 0.02; done`

func start(tb TB, status string) *Program {
	return Other(tb, here, "sh", "-c", script, "sh", status)
}

func here(cmd *exec.Cmd) error { return cmd.Start() }

// failure is a TB on which a test may fail without failing.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// failing runs f and returns why it failed, "" if it did not.
func failing(t *testing.T, f func(TB)) (why string) {
	t.Helper()
	tb := &failure{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(tb) {
			panic(r)
		}
		why = tb.text
	}()
	f(tb)
	return ""
}

func TestProgram(t *testing.T) {
	p := start(t, "0")
	if got, want := p.Line("status"), "status 0"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	p.Line("rea", "dy")
	if got, want := p.Interrupt(), "status 0\nready\nend\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func TestProgramFails(t *testing.T) {
	if why := failing(t, func(tb TB) {
		p := start(tb, "3")
		p.Line("ready")
		p.Interrupt()
	}); !strings.HasSuffix(why, "after an interrupt: exit status 3") {
		t.Errorf("ended badly after an interrupt: %q", why)
	}
	if why := failing(t, func(tb TB) { Other(tb, here, "true").Line("word") }); !strings.Contains(why, "ended without a line") {
		t.Errorf("ended too early: %q", why)
	}
	if why := failing(t, func(tb TB) { Other(tb, here, "xdpath-no-such-program") }); !strings.HasPrefix(why, "start ") {
		t.Errorf("no such program: %q", why)
	}
}

func TestInstalled(t *testing.T) {
	Installed(t, "true", "coreutils")
	t.Setenv("XDPATH_TEST_REQUIRE", "1")
	if why := failing(t, func(tb TB) { Installed(tb, "xdpath-no-such-program", "xdpath-none") }); !strings.Contains(why, "package xdpath-none") {
		t.Errorf("required and missing: %q", why)
	}
	t.Setenv("XDPATH_TEST_REQUIRE", "")
	t.Run("skips", func(t *testing.T) {
		Installed(skipper{t}, "xdpath-no-such-program", "xdpath-none")
	})
}

// skipper notes a skip instead of skipping: skips in this repository are listed.
type skipper struct{ *testing.T }

func (s skipper) Skipf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !strings.Contains(text, "package xdpath-none") {
		s.Errorf("skipped with %q", text)
	}
}

func (s skipper) Fatalf(format string, args ...any) { s.Errorf("failed: "+format, args...) }
